#!/usr/bin/env bash
# Becomes redis-server as the user redis, with the official image's defaults.
set -euo pipefail

if [ "${1:0:1}" = - ] || [ "${1%.conf}" != "$1" ]; then set -- redis-server "$@"; fi

# The official image is compiled without protected mode; Debian's server has to be told, unless someone decided.
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
