#!/usr/bin/env bash
# Makes sure that Go can compile the test of Segment's client: installs Debian's when it cannot, and compiles it once, so
# that the test finds the libraries compiled. The receiver of webhooks needs Go 1.21 and OpenFeature's SDK Go 1.24. Their
# tests need no more than that the libraries are there, and are left out with an older Go.
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
for app in webhook-dispatcher decision-service; do
  (cd "../../../../$app/tests/go" && go mod download) || echo "install-go: $app needs a newer Go" >&2
done
