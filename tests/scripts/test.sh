#!/bin/sh
# Runs every test; those that need Docker or RabbitMQ are skipped where it cannot be had.
set -eu

cd "$(dirname "$0")/../.."
if tests/scripts/dockerd.sh --require; then
    export THERMOCLINE_TEST_DOCKER=1
else
    echo "going on without Docker: the tests that need it are skipped" >&2
fi
# Each test that needs it starts a server of its own.
if tests/scripts/tools.sh rabbitmq-server=rabbitmq-server; then
    export THERMOCLINE_TEST_RABBITMQ=1
else
    echo "going on without RabbitMQ: the tests that need it are skipped" >&2
fi
# A run of rustdoc for each library: only where there is something to run.
if grep -rqE --include='*.rs' '^ *//[/!] ```' router control-plane providers tests; then
    cargo test --workspace --doc --locked --quiet
fi
# Built with the tests, as the verbs' tests need it: a build of its own would have other
# features, and compile half of everything twice.
THERMOCLINE_BIN="$(realpath "${CARGO_TARGET_DIR:-target}")/debug/thermocline"
export THERMOCLINE_BIN
# Half of them for what computes, half for what waits more: .config/nextest.toml.
NEXTEST_TEST_THREADS=${NEXTEST_TEST_THREADS:-$(($(nproc) * 2))}
export NEXTEST_TEST_THREADS
exec cargo nextest run --workspace --locked "$@"
