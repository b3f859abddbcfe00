#!/bin/sh
# Makes sure of commands, and does nothing where they are there already.
#
#   tools.sh COMMAND=PACKAGE …   from Debian; needs root where one is missing
#   tools.sh CRATE@VERSION …     from crates.io, a command of the crate's name
set -eu

missing=
for wanted in "$@"; do
    case $wanted in
    *=*) command -v "${wanted%%=*}" >/dev/null || missing="$missing ${wanted#*=}" ;;
    *@*) command -v "${wanted%@*}" >/dev/null || cargo install --locked "$wanted" ;;
    *)
        echo "usage: tools.sh [COMMAND=PACKAGE | CRATE@VERSION] …" >&2
        exit 2
        ;;
    esac
done
[ -n "$missing" ] || exit 0

if [ "$(id -u)" != 0 ] || ! command -v apt-get >/dev/null; then
    echo "missing, and only root on Debian can install them here:$missing" >&2
    exit 1
fi
apt-get update -q >&2
# shellcheck disable=SC2086 # one word for each package
DEBIAN_FRONTEND=noninteractive apt-get install -q -y --no-install-recommends $missing >&2
