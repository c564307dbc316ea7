# Recipes of development; `just` lists them. Every recipe is one plain command, so `just` itself is optional.

set positional-arguments

# List the recipes
default:
    @just --list

# Start a server on ./cuebase-data
run *arguments:
    cargo run --release --locked -- serve "$@"

# Run the whole test suite; arguments go to `cargo test`
test *arguments:
    sh scripts/test.sh "$@"

# Run what continuous integration runs: format, lints, tests, instruction counts, and the suites that a change affects
check *arguments:
    sh .ci/run "$@"

# Run a benchmark: engine, front, greedy, hosted, instructions, lexical, load or turns
bench name="load" *arguments:
    cargo bench --locked --bench "$@"

# Fuzz a parser for a minute; without a target, list the targets
fuzz *arguments:
    sh scripts/fuzz.sh "$@"

# Build the reproducible release binary and all packages into a folder
release folder *arguments:
    sh scripts/release.sh "$@"

# Write the generated pages of docs/reference and the error codes of the clients
docs:
    cargo xtask docs

# Format the code
fmt:
    cargo fmt --all
