#!/usr/bin/env bash
# Runs redis-server as the user redis, with the defaults of the official image.
set -euo pipefail

if [ "${1:0:1}" = - ] || [ "${1%.conf}" != "$1" ]; then set -- redis-server "$@"; fi

# The official image is compiled without protected mode. Debian's server needs an option, unless one is given.
sets_protected_mode() {
  local argument
  for argument in "$@"; do
    case $argument in
      --protected-mode) return 0 ;;
      -v | --version | -h | --help | --test-memory | --check-system) return 0 ;;
      *.conf) if grep -q '^[[:space:]]*protected-mode' "$argument"; then return 0; fi ;;
    esac
  done
  return 1
}

if [ "$1" = redis-server ]; then
  if ! sets_protected_mode "${@:2}"; then set -- "$@" --protected-mode no; fi
  if [ "$(id -u)" = 0 ]; then
    find . ! -user redis -exec chown redis '{}' +
    exec setpriv --reuid redis --regid redis --clear-groups "$0" "$@"
  fi
  if [ "$(umask)" = 0022 ]; then umask 0077; fi
fi

exec "$@"
