#!/bin/sh
# Builds the tests' image, thermocline-test-backend:latest, and hands it to the
# Docker daemon at DOCKER_HOST (unix:// only). Both are skipped where the result
# is there already: the image carries the digest of its source as a label.
# No registry is asked: the image is one static file on nothing.
set -eu

here=$(cd "$(dirname "$0")" && pwd)
root=$(cd "$here/../.." && pwd)
out=${CARGO_TARGET_DIR:-$root/target}/images
host=${DOCKER_HOST:-unix:///var/run/docker.sock}
socket=${host#unix://}
name=thermocline-test-backend
source=$(cat "$0" "$here"/backend/*.rs | sha256sum | cut -c1-16)
binary=$out/$name-$source

api() {
    path=$1
    shift
    curl --silent --show-error --fail --max-time 120 --unix-socket "$socket" "$@" "http://docker$path"
}

imported() {
    api "/images/$name:latest/json" 2>/dev/null | grep -q "\"thermocline.source\":\"$source\""
}

compile() {
    cd "$root" # for its toolchain
    mkdir -p "$out"
    rustc --edition 2024 --crate-name backend -O \
        -C target-feature=+crt-static -C panic=abort -C strip=symbols \
        --target x86_64-unknown-linux-gnu -o "$binary.$$" "$here/backend/main.rs"
    mv "$binary.$$" "$binary"
}

import() {
    stage=$(mktemp -d)
    trap 'rm -rf "$stage"' EXIT
    install -m 0755 "$binary" "$stage/backend"
    tar --create --owner=0 --group=0 --numeric-owner --directory "$stage" backend |
        api "/images/create?fromSrc=-&repo=$name&tag=latest&changes=ENTRYPOINT%20%5B%22%2Fbackend%22%5D&changes=EXPOSE%208000&changes=LABEL%20thermocline.source%3D$source" \
            --request POST --header 'content-type: application/x-tar' --data-binary @- >/dev/null
    imported || {
        echo "the image was not imported" >&2
        exit 1
    }
}

[ -x "$binary" ] || compile
imported || import
