#!/usr/bin/env bash
# Installs Debian's `docker compose` or `docker-compose` if neither exists.
set -euo pipefail

as_root() {
  if [ "$(id -u)" = 0 ]; then "$@"; else sudo "$@"; fi
}

if docker compose version >/dev/null 2>&1 || command -v docker-compose >/dev/null; then exit 0; fi
if ! command -v apt-get >/dev/null; then
  echo 'install-compose: docker compose is missing and there is no apt-get to install it with' >&2
  exit 1
fi
echo 'Installing docker-compose'
as_root apt-get update -qq
as_root env DEBIAN_FRONTEND=noninteractive apt-get install -y -qq --no-install-recommends docker-compose >/dev/null
