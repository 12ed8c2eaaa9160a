#!/usr/bin/env bash
# Makes sure that Python can make the environment of the test of generated clients: installs Debian's when it cannot.
set -euo pipefail

usable() {
  python3 -c 'import sys, ensurepip, venv; sys.exit(sys.version_info < (3, 11))' >/dev/null 2>&1
}
as_root() {
  if [ "$(id -u)" = 0 ]; then "$@"; else sudo "$@"; fi
}

if usable; then exit 0; fi
if ! command -v apt-get >/dev/null; then
  echo 'install-python: python3 3.11 or newer with venv is missing, and there is no apt-get to install it with' >&2
  exit 1
fi
echo 'Installing python3-venv'
as_root apt-get update -qq
as_root env DEBIAN_FRONTEND=noninteractive apt-get install -y -qq --no-install-recommends python3 python3-venv >/dev/null
if ! usable; then
  echo "install-python: $(command -v python3) is $(python3 --version) and not usable: it must be 3.11 or newer with venv" >&2
  exit 1
fi
