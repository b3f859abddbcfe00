#!/bin/sh
# Makes a Docker daemon answer at DOCKER_HOST (default: the usual socket), with
# the tests' image in it. Does nothing that is done already.
#
#   dockerd.sh             exit 0 in any case; says on stderr why there is none
#   dockerd.sh --require   exit 1 where there is none
#   dockerd.sh stop        stops the daemon that this script started
#
# Installing and starting a daemon needs root and Debian's docker.io.
set -eu

here=$(cd "$(dirname "$0")" && pwd)
host=${DOCKER_HOST:-unix:///var/run/docker.sock}
socket=${host#unix://}
state=${THERMOCLINE_DOCKER_DIR:-/var/tmp/thermocline-docker}
pidfile=$state/dockerd.pid
wait_s=60
without=0

give_up() {
    echo "no Docker daemon: $1" >&2
    exit "$without"
}

answers() {
    curl --silent --fail --max-time 5 --unix-socket "$socket" http://docker/_ping >/dev/null 2>&1
}

running() {
    [ -s "$pidfile" ] && [ "$(cat "/proc/$(cat "$pidfile")/comm" 2>/dev/null)" = dockerd ]
}

install_docker() {
    command -v dockerd >/dev/null && return
    [ "$(id -u)" = 0 ] || give_up "dockerd is not installed, and only root can install it"
    command -v apt-get >/dev/null || give_up "dockerd is not installed, and there is no apt-get"
    {
        apt-get update -q
        DEBIAN_FRONTEND=noninteractive apt-get install -q -y --no-install-recommends docker.io iptables tini
    } >&2 || give_up "docker.io could not be installed"
}

# dockerd wants the cgroup controllers mounted; minimal machines leave that out.
mount_cgroups() {
    mountpoint -q /sys/fs/cgroup && return
    mount -t cgroup2 none /sys/fs/cgroup 2>/dev/null || true
}

launch() {
    rm -f "$pidfile"
    setsid dockerd --host "$host" --data-root "$state/data" --exec-root "$state/exec" \
        --pidfile "$pidfile" "$@" >"$state/dockerd.log" 2>&1 </dev/null &
    pid=$!
    for _ in $(seq $((wait_s * 5))); do
        answers && return
        kill -0 "$pid" 2>/dev/null || return 1
        sleep 0.2
    done
    kill "$pid"
    return 1
}

# First as it is meant to be; then without iptables (published ports on loopback
# go through docker-proxy and need none); then with the storage that always works.
start() {
    [ "$(id -u)" = 0 ] || give_up "none answers, and only root can start one"
    mkdir -p "$state"
    mount_cgroups
    launch || launch --iptables=false --ip6tables=false ||
        launch --iptables=false --ip6tables=false --storage-driver=vfs ||
        give_up "dockerd does not start; $(tail -n 1 "$state/dockerd.log")"
}

stop() {
    running || return 0
    pid=$(cat "$pidfile")
    kill "$pid"
    for _ in $(seq $((wait_s * 5))); do
        kill -0 "$pid" 2>/dev/null || return 0
        sleep 0.2
    done
    echo "dockerd does not stop" >&2
    exit 1
}

case ${1:-} in
stop) stop && exit 0 ;;
--require) without=1 ;;
'') ;;
*)
    echo "usage: dockerd.sh [--require | stop]" >&2
    exit 2
    ;;
esac

case $host in
unix://*) ;;
*) give_up "DOCKER_HOST is not a unix socket" ;;
esac
answers || install_docker
answers || start
"$here/../images/build.sh" || give_up "the tests' image could not be made"
