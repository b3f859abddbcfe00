#!/bin/sh
# Holds the dependency rules: deny.toml's, and that the policy depends on
# nothing that waits, reads a clock, logs or reaches a network.
set -eu

cd "$(dirname "$0")/../.."
cargo deny --locked --log-level error check bans licenses sources

may="serde thiserror"
tree() {
    cargo tree --locked --package thermocline-policy --edges normal,build --prefix none --format '{p}' "$@"
}
for name in $(tree --depth 1 | sed 1d | cut -d ' ' -f 1); do
    case " $may " in
    *" $name "*) ;;
    *)
        echo "thermocline-policy depends on $name; it may depend on: $may" >&2
        exit 1
        ;;
    esac
done
