#!/usr/bin/env bash
# Creates the secrets of docker-compose.yml. Each service has a folder (a volume) with a file for each secret that it
# reads.
set -euo pipefail

readonly folder=${SECRETS_DIR:-/secrets}
readonly apps=(
  ingest-gateway enrichment-consumer persistence-consumer management-api
  link-redirector coupon-service decision-service email-consumer webhook-dispatcher
)
# Each app has its own database role; database-password belongs to the owner.
readonly names=(database-password clickhouse-password mail-secret erasure-secret "${apps[@]/%/-database-password}")

# The services that read a secret. The file of the first one is the original.
readers_of() {
  case $1 in
    database-password) echo postgres setup ;;
    clickhouse-password) echo clickhouse setup ingest-gateway persistence-consumer management-api ;;
    mail-secret) echo email-consumer ;;
    erasure-secret) echo management-api ;;
    *-database-password)
      local app=${1%-database-password}
      if [[ " ${apps[*]} " == *" $app "* ]]; then echo "$app" setup; fi
      ;;
  esac
}

# The variable that replaces a random secret, and its value.
variable_of() {
  case $1 in
    database-password) echo POSTGRES_PASSWORD ;;
    clickhouse-password) echo CLICKHOUSE_PASSWORD ;;
    mail-secret) echo MAIL_SECRET ;;
    erasure-secret) echo ERASURE_SECRET ;;
  esac
}
given() {
  local name
  name="$(variable_of "$1")"
  if [ -n "$name" ]; then echo "${!name:-}"; fi
}

original_of() { local readers; read -ra readers <<<"$(readers_of "$1")"; echo "$folder/${readers[0]}/$1"; }

random() { od -An -N24 -tx1 /dev/urandom | tr -d ' \n'; }

# World-readable, because services run as different users. Access is limited by the volumes they mount.
write() {
  local reader file
  for reader in $(readers_of "$1"); do
    file="$folder/$reader/$1"
    if [ "$(cat "$file" 2>/dev/null)" = "$2" ]; then continue; fi
    mkdir -p "$folder/$reader"
    printf '%s\n' "$2" >"$file.new"
    chmod 444 "$file.new"
    # Renamed into place, so that a crash never leaves a partial secret.
    mv -f "$file.new" "$file"
  done
}

make_all() {
  local name value
  for name in "${names[@]}"; do
    value="$(given "$name")"
    if [ -z "$value" ]; then value="$(cat "$(original_of "$name")" 2>/dev/null || random)"; fi
    write "$name" "$value"
  done
  # Earlier versions gave the owner's password to every app.
  for name in "${apps[@]}"; do rm -f "$folder/$name/database-password"; done
}

renew() {
  local name=${1:-} old value
  if [ -z "$(readers_of "$name")" ]; then
    echo "There is no secret '$name': the secrets are ${names[*]}" >&2
    exit 1
  fi
  if [ -n "$(given "$name")" ]; then
    echo "$(variable_of "$name") is set in the environment or in .env: change it there" >&2
    exit 1
  fi
  value="$(random)"
  # Unsubscribe links in emails that were already sent are signed with the old secret.
  if [ "$name" = mail-secret ] && old="$(cat "$(original_of "$name")" 2>/dev/null)"; then value+=",${old%%,*}"; fi
  write "$name" "$value"
}

print_env() {
  echo "DATABASE_PASSWORD=$(cat "$(original_of database-password)")"
  echo "CLICKHOUSE_PASSWORD=$(cat "$(original_of clickhouse-password)")"
  echo "MAIL_SECRET=$(cat "$(original_of mail-secret)")"
  echo "ERASURE_SECRET=$(cat "$(original_of erasure-secret)")"
}

case ${1:-make} in
  make) make_all ;;
  renew) renew "${2:-}" ;;
  env) make_all && print_env ;;
  *)
    cat >&2 <<USAGE
Usage: secrets.sh [make]       makes the secrets that are missing
       secrets.sh renew NAME   draws a new one: ${names[*]}
       secrets.sh env          prints them as lines for .env, for apps that run outside of containers
USAGE
    exit 1
    ;;
esac
