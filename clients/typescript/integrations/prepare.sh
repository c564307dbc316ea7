#!/bin/sh
# Copies the compiled client into `node_modules`, as `npm install --install-links` does, and sets up a folder whose package
# `ai` is version 6.
set -eu
cd "$(dirname "$0")"
rm -rf build node_modules/cuebase
for folder in node_modules build/ai-6/node_modules; do
    mkdir -p "$folder/cuebase"
    cp -R ../package.json ../dist "$folder/cuebase"
done
ln -s ../../../node_modules/ai-6 build/ai-6/node_modules/ai
