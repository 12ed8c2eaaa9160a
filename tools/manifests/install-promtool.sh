#!/usr/bin/env bash
# Makes sure that the alert rules can be tested: unpacks promtool from Debian's package `prometheus`, without its server.
set -euo pipefail

as_root() {
  if [ "$(id -u)" = 0 ]; then "$@"; else sudo "$@"; fi
}

if command -v promtool >/dev/null; then exit 0; fi
if ! command -v apt-get >/dev/null; then
  echo 'install-promtool: promtool is missing, and there is no apt-get to download it with' >&2
  exit 1
fi
folder="$(mktemp -d)"
trap 'rm -r "$folder"' EXIT
as_root apt-get update -qq
(cd "$folder" && apt-get download -qq prometheus && dpkg-deb --extract prometheus_*.deb files)
as_root install "$folder/files/usr/bin/promtool" /usr/local/bin/promtool
