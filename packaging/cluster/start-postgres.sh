#!/bin/sh
# Starts a PostgreSQL server of compose.yaml as the primary or as the standby. An empty folder is initialized on the
# primary, and copied from the primary on the standby. Arguments are options of the server.
#
# Refuses to start a server that was the primary before a fail-over: two servers would accept writes.
set -eu
name="$CUEBASE_POSTGRES_NAME"
peer="$CUEBASE_POSTGRES_PEER"
primary="$CUEBASE_POSTGRES_PRIMARY"
peer_port="${CUEBASE_POSTGRES_PEER_PORT:-5432}"

case "$primary" in
"$name" | "$peer") ;;
*)
    echo "invalid CUEBASE_POSTGRES_PRIMARY \"$primary\": expected $name or $peer" >&2
    exit 1
    ;;
esac

# The official image starts as root, and its entrypoint changes to the user of PostgreSQL.
as_owner() {
    if [ "$(id -u)" = 0 ]; then
        gosu postgres "$@"
    else
        "$@"
    fi
}

copy_primary() {
    # Passwords are letters and digits, so that they need no quotes here.
    login="host=$peer port=$peer_port user=replicator password=$CUEBASE_REPLICATION_PASSWORD"
    tries=0
    until as_owner pg_isready --quiet --host="$peer" --port="$peer_port"; do
        tries=$((tries + 1))
        if [ "$tries" -gt 300 ]; then
            echo "the primary $peer does not respond after 300 attempts" >&2
            exit 1
        fi
        sleep 1
    done
    if [ "$(id -u)" = 0 ]; then
        mkdir -p "$PGDATA"
        chown postgres:postgres "$PGDATA"
        chmod 700 "$PGDATA"
    fi
    # A slot keeps the log that this standby still needs. A copy does not include slots, so each server creates its own.
    as_owner psql --no-psqlrc --quiet --set=ON_ERROR_STOP=1 --dbname="$login dbname=postgres" <<SQL
SELECT pg_create_physical_replication_slot('$name')
WHERE NOT EXISTS (SELECT FROM pg_replication_slots WHERE slot_name = '$name');
SQL
    as_owner pg_basebackup --pgdata="$PGDATA" --dbname="$login application_name=$name" --wal-method=stream \
        --checkpoint=fast --slot="$name" --write-recovery-conf
}

if [ -e "$PGDATA/PG_VERSION" ]; then
    if [ "$name" != "$primary" ] && [ ! -e "$PGDATA/standby.signal" ]; then
        echo "$name was the primary, and $primary is the primary now: remove the volume of $name to copy $primary" >&2
        exit 1
    fi
elif [ "$name" != "$primary" ]; then
    copy_primary
fi
exec docker-entrypoint.sh postgres "$@"
