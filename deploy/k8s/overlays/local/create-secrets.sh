#!/usr/bin/env bash
# Creates the Secrets of this overlay with random values, unless they exist: waymark-connections, waymark-clickhouse for
# the apps that use ClickHouse, waymark-setup for the database owner, and one Secret per app for its database role.
set -euo pipefail

readonly namespace=waymark
readonly apps=(
  ingest-gateway enrichment-consumer persistence-consumer management-api
  link-redirector coupon-service decision-service email-consumer webhook-dispatcher
)

random() { od -An -N24 -tx1 /dev/urandom | tr -d ' \n'; }

exists() { [ -n "$(kubectl --namespace $namespace get secret "$1" --ignore-not-found --output name)" ]; }

# secret NAME KEY VALUE…
secret() {
  cat <<SECRET
---
apiVersion: v1
kind: Secret
metadata:
  name: $1
  labels:
    app.kubernetes.io/part-of: waymark
stringData:
SECRET
  shift
  while [ $# -gt 0 ]; do
    echo "  $1: \"$2\""
    shift 2
  done
}

# secrets OWNER_PASSWORD
secrets() {
  local app password roles=()
  for app in "${apps[@]}"; do
    password="$(random)"
    secret "waymark-database-$app" DATABASE_USERNAME "waymark_${app//-/_}" DATABASE_PASSWORD "$password"
    app="${app^^}"
    roles+=("SERVICE_ROLE_PASSWORD_${app//-/_}" "$password")
  done
  secret waymark-setup DATABASE_PASSWORD "$1" "${roles[@]}"
}

kubectl apply --filename "$(dirname "$0")/namespace.yaml"
if ! exists waymark-clickhouse; then
  secret waymark-clickhouse CLICKHOUSE_PASSWORD "$(random)" | kubectl --namespace $namespace create --filename -
fi
if exists waymark-setup; then
  echo 'The Secret waymark-setup exists: the others are left as they are'
  exit 0
fi
owner=
if exists waymark-connections; then
  # Earlier versions gave the owner's password to every app.
  owner="$(kubectl --namespace $namespace get secret waymark-connections --output 'jsonpath={.data.DATABASE_PASSWORD}' | base64 --decode)"
else
  secret waymark-connections MAIL_SECRET "$(random)" ERASURE_SECRET "$(random)" | kubectl --namespace $namespace create --filename -
fi
secrets "${owner:-$(random)}" | kubectl --namespace $namespace create --filename -
if [ -n "$owner" ]; then
  kubectl --namespace $namespace patch secret waymark-connections --type json \
    --patch '[{"op": "remove", "path": "/data/DATABASE_PASSWORD"}]'
fi
