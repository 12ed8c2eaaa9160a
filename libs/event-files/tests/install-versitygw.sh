#!/usr/bin/env bash
# Installs Versity S3 Gateway, an S3 server on a directory, which the tests of the archive use. It is built as a Go module,
# so that no other registry than Go's is needed.
set -euo pipefail
readonly version=v1.8.0
if command -v versitygw >/dev/null; then exit; fi
if ! command -v go >/dev/null; then
  echo 'install-versitygw: go is missing; apps/ingest-gateway/tests/sdks/install-go.sh installs it' >&2
  exit 1
fi
if [ "$(id -u)" = 0 ]; then root=(); else root=(sudo); fi
folder="$(mktemp -d)"
trap 'rm -r "$folder"' EXIT
CGO_ENABLED=0 GOBIN="$folder" go install "github.com/versity/versitygw/cmd/versitygw@$version"
"${root[@]}" install "$folder/versitygw" /usr/local/bin/versitygw
