#!/bin/sh
# Tests the console in Chromium against the binary as it was built last.
set -eu

cd "$(dirname "$0")/../.."
tests/scripts/tools.sh chromium=chromium
THERMOCLINE_BIN=${THERMOCLINE_BIN:-$(realpath "${CARGO_TARGET_DIR:-target}")/debug/thermocline}
CHROMIUM=${CHROMIUM:-$(command -v chromium)}
export THERMOCLINE_BIN CHROMIUM
exec tests/scripts/node.sh run test -- "$@"
