#!/bin/sh
# Runs a command of npm's with a Node that the console can be built with:
# the machine's, or where that is too old one from npm, kept in web/node_modules.
#
#   node.sh run SCRIPT …    a script of web/package.json, its packages installed
set -eu

cd "$(dirname "$0")/../../web"
newest_needed=20.19

new_enough() {
    found=$(node --version 2>/dev/null | tr -d v) || return 1
    [ "$(printf '%s\n' "$newest_needed" "$found" | sort -V | head -n 1)" = "$newest_needed" ]
}

../tests/scripts/tools.sh node=nodejs npm=npm >&2
# Installed anew only when the lock has changed.
if ! cmp -s package-lock.json node_modules/.installed-lock; then
    npm ci --no-audit --no-fund >&2
    cp package-lock.json node_modules/.installed-lock
fi
if ! new_enough; then
    own=node_modules/.node
    [ -x "$own/node_modules/node/bin/node" ] ||
        npm install --no-save --no-audit --no-fund --prefix "$own" node@20.20.2 >&2
    PATH=$PWD/$own/node_modules/node/bin:$PATH
    export PATH
fi
exec npm "$@"
