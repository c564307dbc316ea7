#!/bin/sh
# Sets up a new primary of compose.yaml: the role and the database of the nodes, the role of the standby, who may
# connect, and for which standbys a commit waits. The image of PostgreSQL runs it once, in a server that nobody else can
# reach.
set -eu

psql --no-psqlrc --quiet --set=ON_ERROR_STOP=1 --username=postgres --dbname=postgres \
    --set=nodes="$CUEBASE_DATABASE_PASSWORD" --set=standby="$CUEBASE_REPLICATION_PASSWORD" <<'SQL'
CREATE ROLE cuebase LOGIN PASSWORD :'nodes';
CREATE DATABASE cuebase OWNER cuebase;
CREATE ROLE replicator LOGIN REPLICATION PASSWORD :'standby';
-- Applies from the next start on. Both names, so that the setting is right on either server after a fail-over: a
-- server is never its own standby.
ALTER SYSTEM SET synchronous_standby_names = 'FIRST 1 (postgres1, postgres2)';
SQL

# Replaces the rules of the image, which let every role connect to every database from everywhere. The superuser
# connects through the socket inside the container only.
cat >"$PGDATA/pg_hba.conf" <<'RULES'
# TYPE  DATABASE     USER        ADDRESS  METHOD
local   all          postgres             peer
host    cuebase      cuebase     samenet  scram-sha-256
host    replication  replicator  samenet  scram-sha-256
# The standby creates its replication slot.
host    postgres     replicator  samenet  scram-sha-256
RULES
