#!/bin/bash
# Shows that a bare machine is enough: a minimal Debian with python3, python3-venv, make and
# ca-certificates, in which `make run` comes up (twice) and `make test` passes.
# Run as root with debootstrap installed: tests/bare.sh
set -euo pipefail

if [[ ${1:-} != inside ]]; then
    command -v debootstrap >/dev/null || apt-get install -y -qq debootstrap >/dev/null
    bare=$(mktemp -d /var/tmp/bare.XXXXXX)
    chmod 755 "$bare"
    trap 'rm -rf --one-file-system "$bare"' EXIT
    unshare --mount --propagation private "$0" inside "$bare"
    exit
fi

bare=$2
home=/srv/home
checkout=$(cd "$(dirname "$0")/.." && pwd)
port=${PORT:-8199}
. /etc/os-release
mirror=$(apt-get indextargets --format '$(REPO_URI) $(RELEASE) $(COMPONENT)' 'Created-By: Packages' |
    awk -v release="$VERSION_CODENAME" '$2 == release && $3 == "main" {print $1; exit}')

say() { printf '%s  %s\n' "$(date +%T)" "$*"; }

say "minimal $PRETTY_NAME"
debootstrap --variant=minbase --include=python3,python3-venv,make,ca-certificates \
    "$VERSION_CODENAME" "$bare" "$mirror" >/dev/null
cp -L /etc/resolv.conf /etc/hosts "$bare/etc/"
cp -L /etc/ssl/certs/ca-certificates.crt "$bare/etc/ssl/certs/"
mount -t proc proc "$bare/proc"
mount --rbind /dev "$bare/dev"
mkdir -p "$bare$home"
if cache=$(python3 -m pip cache dir 2>/dev/null) && [[ -d $cache ]]; then
    mkdir -p "$bare$home/.cache/pip"
    mount --bind "$cache" "$bare$home/.cache/pip"
fi
git clone -q "$checkout" "$bare$home/ledger"

proxies=()
for name in http_proxy https_proxy no_proxy HTTP_PROXY HTTPS_PROXY NO_PROXY; do
    [[ -v $name ]] && proxies+=("$name=${!name}")
done
there() {
    chroot "$bare" env -i HOME="$home" LANG=C.UTF-8 PATH=/usr/sbin:/usr/bin:/sbin:/bin \
        PORT="$port" "${proxies[@]}" "$@"
}

# The system comes up, tells its address, and ends on Ctrl-C.
up_and_down() {
    local started=$SECONDS output=$bare$home/output
    there setsid sh -c 'echo $$ >"$HOME/pid"; exec make -C "$HOME/ledger" run' >"$output" 2>&1 &
    local job=$!
    until grep -q "http://127.0.0.1:$port/" "$output"; do
        if ! kill -0 "$job" 2>/dev/null || ((SECONDS - started > 400)); then
            cat "$output" "$bare$home"/ledger/var/logs/*.log
            exit 1
        fi
        sleep 0.5
    done
    say "$1: up after $((SECONDS - started)) s"
    cat "$output"
    python3 -c "import urllib.request as r; print('/readyz', r.urlopen('http://127.0.0.1:$port/readyz').status)"
    started=$SECONDS
    kill -INT -- "-$(cat "$bare$home/pid")"
    wait "$job" || true
    say "$1: down after $((SECONDS - started)) s"
    if (exec 3<>"/dev/tcp/127.0.0.1/$port") 2>/dev/null; then
        say "port $port is still served"
        exit 1
    fi
}

say "make run, for the first time"
up_and_down "first start"
up_and_down "second start"
say "make test"
there make -C "$home/ledger" test 2>&1 | tail -n 15
say "done"
