#!/bin/sh
# Creates the bucket `cuebase` in SeaweedFS unless it exists, and has its objects synced to the disk before a put is
# acknowledged. Arguments: address of the master, address of the filer. Can be repeated.
set -eu
run_in_shell() {
    echo "$1" | weed shell -master="$master" -filer="$filer"
}
master="$1"
filer="$2"

if ! run_in_shell "s3.bucket.list" | grep -q '^ *cuebase\b'; then
    run_in_shell "s3.bucket.create -name cuebase"
fi
run_in_shell "fs.configure -locationPrefix=/buckets/cuebase/ -fsync -apply"
