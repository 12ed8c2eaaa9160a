#!/bin/sh
# Passes options and script files to node. Runs any other command unchanged.
set -e

if [ "${1#-}" != "$1" ] || [ -z "$(command -v "$1")" ] || { [ -f "$1" ] && [ ! -x "$1" ]; }; then
  set -- node "$@"
fi

exec "$@"
