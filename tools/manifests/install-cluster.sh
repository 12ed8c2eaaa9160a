#!/usr/bin/env bash
# Unpacks what `npm run test:cluster` uses of Debian into a folder, without installing it: etcd, the database of the API
# server, and the network plug-ins of containers.
set -euo pipefail

target=${1:?usage: install-cluster.sh FOLDER}

as_root() {
  if [ "$(id -u)" = 0 ]; then "$@"; else sudo "$@"; fi
}

if [ -x "$target/usr/bin/etcd" ] && [ -x "$target/usr/lib/cni/bridge" ]; then exit 0; fi
if ! command -v apt-get >/dev/null; then
  echo 'install-cluster: etcd is missing, and there is no apt-get to download it with' >&2
  exit 1
fi
folder="$(mktemp -d)"
trap 'rm -r "$folder"' EXIT
mkdir -p "$target"
as_root apt-get update -qq
(cd "$folder" && apt-get download -qq etcd-server containernetworking-plugins)
for package in "$folder"/*.deb; do dpkg-deb --extract "$package" "$target"; done
