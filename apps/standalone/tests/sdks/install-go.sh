#!/usr/bin/env bash
# Makes sure that Go can compile the test of Segment's client: installs Debian's when it cannot, and compiles it once, so
# that the test finds the libraries compiled. The receiver of webhooks needs Go 1.21, and its test no more than that its
# library is there.
set -euo pipefail
cd "$(dirname "$0")/go"

as_root() {
  if [ "$(id -u)" = 0 ]; then "$@"; else sudo "$@"; fi
}

if ! command -v go >/dev/null; then
  if ! command -v apt-get >/dev/null; then
    echo 'install-go: go is missing, and there is no apt-get to install it with' >&2
    exit 1
  fi
  echo 'Installing golang-go'
  as_root apt-get update -qq
  as_root env DEBIAN_FRONTEND=noninteractive apt-get install -y -qq --no-install-recommends golang-go >/dev/null
fi
CGO_ENABLED=0 go build -o /dev/null .
(cd ../../../../webhook-dispatcher/tests/go && go mod download)
