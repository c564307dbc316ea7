#!/bin/sh
# Runs the tests that need a PostgreSQL server and an S3 service, and those of the checks of the fault campaign. Installs
# both services if they are missing, and ends them at the end. Arguments are passed to the tests in Rust.
set -eu
cd "$(dirname "$0")/.."
# shellcheck source=scripts/services.sh
. scripts/services.sh
install_services
# The other tests of the campaign need root, network namespaces and minutes: see tests/cluster/README.md.
(cd tests/cluster && PYTHONDONTWRITEBYTECODE=1 "$tools/bin/python" -m pytest -q -p no:cacheprovider test_checker.py \
    test_exit_code.py test_final_state.py test_unavailability.py)
# Built before the services start, so that a failed build leaves none.
cargo test --release --locked --workspace --lib --no-run

start_services 300
export AWS_ENDPOINT_URL AWS_ACCESS_KEY_ID AWS_SECRET_ACCESS_KEY
export CUEBASE_TEST_POSTGRES="$postgres_server dbname=postgres"
export CUEBASE_TEST_BUCKET="$bucket"
cargo test --release --locked --workspace --lib -- --ignored postgres "$@"
cargo test --release --locked --workspace --lib -- --ignored s3_service "$@"
