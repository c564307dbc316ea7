#!/bin/sh
# Runs the black-box tests against servers of three nodes, with a PostgreSQL server and an S3 service. Installs both
# services if they are missing, and ends them at the end. Arguments select tests by parts of their names:
# `sh scripts/test-nodes.sh retrieve::`.
set -eu
cd "$(dirname "$0")/.."
# shellcheck source=scripts/services.sh
. scripts/services.sh
single_process=tests/support/single_process.txt

CUEBASE_TEST_ENCODER="$(sh scripts/setup-tests.sh)"
export CUEBASE_TEST_ENCODER
install_services
# Built before the services start, so that a failed build leaves none.
tests="$(cargo test --release --locked --workspace --test blackbox -- --list)"
skipped=""
# shellcheck disable=SC2013 # a name has no spaces
for name in $(sed -n 's/^\([a-z][^ ]*\).*/\1/p' "$single_process"); do
    if ! echo "$tests" | grep -q -F "$name"; then
        echo "test-nodes: $single_process: no test has the name $name" >&2
        exit 1
    fi
    skipped="$skipped --skip $name"
done

start_services 500
cat >"$data/cluster.json" <<SERVICES
{"postgres": "$postgres_server", "psql": "$postgres/psql", "bucket": "$bucket",
  "environment": {"AWS_ENDPOINT_URL": "$AWS_ENDPOINT_URL", "AWS_ALLOW_HTTP": "true", "AWS_REGION": "us-east-1",
    "AWS_ACCESS_KEY_ID": "$AWS_ACCESS_KEY_ID", "AWS_SECRET_ACCESS_KEY": "$AWS_SECRET_ACCESS_KEY"}}
SERVICES
export CUEBASE_TEST_CLUSTER="$data/cluster.json"
# shellcheck disable=SC2086 # a list of options
cargo test --release --locked --workspace --test blackbox -- --test-threads 2 $skipped "$@"
