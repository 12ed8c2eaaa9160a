#!/bin/sh
# Hands options and script files to node, and runs everything else as it is.
set -e

if [ "${1#-}" != "$1" ] || [ -z "$(command -v "$1")" ] || { [ -f "$1" ] && [ ! -x "$1" ]; }; then
  set -- node "$@"
fi

exec "$@"
