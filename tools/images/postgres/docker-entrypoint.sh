#!/usr/bin/env bash
# Initialises an empty data folder from POSTGRES_* variables, then runs the server.
set -euo pipefail

fail() {
  echo "Error: $1" >&2
  exit 1
}

# Reads a variable from the file in NAME_FILE (a Docker secret). Otherwise keeps its value or sets the default.
read_setting() {
  local name=$1 default=${2:-} file_name="${1}_FILE"
  if [ -n "${!name:-}" ] && [ -n "${!file_name:-}" ]; then fail "$name and $file_name are both set"; fi
  if [ -n "${!file_name:-}" ]; then
    export "$name=$(<"${!file_name}")"
  else
    export "$name=${!name:-$default}"
  fi
  unset "$file_name"
}

read_settings() {
  read_setting POSTGRES_PASSWORD
  read_setting POSTGRES_USER postgres
  read_setting POSTGRES_DB "$POSTGRES_USER"
  read_setting POSTGRES_INITDB_ARGS
  export POSTGRES_HOST_AUTH_METHOD=${POSTGRES_HOST_AUTH_METHOD:-}
  if [ -z "$POSTGRES_PASSWORD" ] && [ "$POSTGRES_HOST_AUTH_METHOD" != trust ]; then
    fail 'Database is uninitialized and superuser password is not specified: set POSTGRES_PASSWORD'
  fi
}

create_data_folder() {
  # The shell evaluates the arguments, including quotes, as in the official image.
  eval "initdb --username=\"\$POSTGRES_USER\" --pwfile=<(printf '%s\n' \"\$POSTGRES_PASSWORD\") $POSTGRES_INITDB_ARGS"
  local method=${POSTGRES_HOST_AUTH_METHOD:-$(postgres -C password_encryption)}
  printf '\nhost all all all %s\n' "$method" >>"$PGDATA/pg_hba.conf"
}

process_sql() {
  PGHOST='' PGHOSTADDR='' psql --set ON_ERROR_STOP=1 --no-password --no-psqlrc --username "$POSTGRES_USER" "$@"
}

create_database() {
  if [ "$POSTGRES_DB" = postgres ]; then return; fi
  process_sql --dbname postgres --set db="$POSTGRES_DB" <<<'CREATE DATABASE :"db";'
}

run_init_file() {
  local file=$1
  case $file in
    *.sh)
      echo "$0: running $file"
      # A script that is not executable shares this shell's functions and variables.
      # shellcheck disable=SC1090
      if [ -x "$file" ]; then "$file"; else . "$file"; fi
      ;;
    *.sql) echo "$0: running $file" && process_sql --dbname "$POSTGRES_DB" --file "$file" ;;
    *.sql.gz) echo "$0: running $file" && gunzip -c "$file" | process_sql --dbname "$POSTGRES_DB" ;;
    *) echo "$0: ignoring $file" ;;
  esac
}

# The server for the initialisation listens only on its socket, so that clients do not connect to it.
initialise() {
  local file
  read_settings
  create_data_folder
  export PGPASSWORD=${PGPASSWORD:-$POSTGRES_PASSWORD}
  pg_ctl --wait --options "$(printf '%q ' "$@" -c listen_addresses= -p "${PGPORT:-5432}")" start
  create_database
  for file in /docker-entrypoint-initdb.d/*; do
    if [ -e "$file" ]; then run_init_file "$file"; fi
  done
  pg_ctl --wait --mode fast stop
  unset PGPASSWORD
  printf '\nPostgreSQL init process complete; ready for start up.\n\n'
}

only_asks_for_help() {
  local argument
  for argument in "$@"; do
    case $argument in -\? | --help | --describe-config | -V | --version) return 0 ;; esac
  done
  return 1
}

if [ "${1:0:1}" = - ]; then set -- postgres "$@"; fi

if [ "$1" = postgres ] && ! only_asks_for_help "$@"; then
  mkdir -p "$PGDATA"
  if [ "$(id -u)" = 0 ]; then
    find "$PGDATA" /var/run/postgresql ! -user postgres -exec chown postgres '{}' +
    chmod 700 "$PGDATA"
    export HOME=/var/lib/postgresql
    exec setpriv --reuid postgres --regid postgres --init-groups "$0" "$@"
  fi
  chmod 700 "$PGDATA" 2>/dev/null || true
  if [ -s "$PGDATA/PG_VERSION" ]; then
    echo 'PostgreSQL Database directory appears to contain a database; Skipping initialization'
  else
    initialise "${@:2}"
  fi
fi

exec "$@"
