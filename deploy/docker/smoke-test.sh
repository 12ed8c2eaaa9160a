#!/usr/bin/env bash
# Runs docker-compose.yml with the existing images in a separate project, and tests it from outside.
set -euo pipefail
cd "$(dirname "$0")/../.."

readonly project="waymark-smoke-$$" deadline_seconds=300
readonly max_bytes=$((350 * 1000 * 1000)) max_compressed_bytes=$((120 * 1000 * 1000))
# It contains PostgreSQL and DuckDB as well.
readonly max_standalone_bytes=$((450 * 1000 * 1000)) max_standalone_compressed_bytes=$((200 * 1000 * 1000))
version="$(sed -n 's/^  "version": "\(.*\)",$/\1/p' package.json)"
export WAYMARK_VERSION=${WAYMARK_VERSION:-$version}
export WAYMARK_PORT=18080 POSTGRES_PORT=15432 REDIS_PORT=16379 KAFKA_PORT=19092 CLICKHOUSE_PORT=18123 SMTP_PORT=11025 MAIL_PORT=18025
export WAYMARK_URL="http://localhost:$WAYMARK_PORT"

if docker compose version >/dev/null 2>&1; then compose=(docker compose); else compose=(docker-compose); fi
compose+=(--project-name "$project")

clean_up() {
  "${compose[@]}" down --volumes --timeout 0 >/dev/null 2>&1 || true
}
trap clean_up EXIT

fail() {
  echo "FAILED: $1" >&2
  "${compose[@]}" ps >&2
  "${compose[@]}" logs --tail 20 >&2
  exit 1
}

# Reads a field of a JSON object from standard input.
field() {
  node -e 'let s = ""; process.stdin.on("data", (d) => (s += d)).on("end", () => console.log(JSON.parse(s)[process.argv[1]]))' "$1"
}

# Prints the names of images with their compressed bytes. A layer that several images share is compressed once.
compressed_sizes() {
  local folder
  folder="$(mktemp -d)"
  docker save "$@" | tar --extract --directory "$folder"
  pushd "$folder" >/dev/null
  node -p 'require("./manifest.json").flatMap(({ Layers }) => Layers).join("\n")' | sort --unique |
    xargs --max-procs 2 -I % sh -c 'echo "% $(gzip --stdout <% | wc -c)"' >sizes
  node -e 'const lines = require("fs").readFileSync("sizes", "utf8").trim().split("\n")
    const sizes = new Map(lines.map((line) => line.split(" ")))
    for (const { RepoTags: [tag], Layers } of require("./manifest.json"))
      console.log(tag, Layers.reduce((sum, layer) => sum + Number(sizes.get(layer)), 0))'
  popd >/dev/null
  rm -r "$folder"
}

check_sizes() {
  local image images sizes bytes compressed
  mapfile -t images < <(docker images --format '{{.Repository}}:{{.Tag}}' | grep "^waymark/.*:$WAYMARK_VERSION$")
  sizes="$(compressed_sizes "${images[@]}")"
  while read -r image compressed; do
    bytes="$(docker image inspect --format '{{.Size}}' "$image")"
    echo "$image: $((bytes / 1000000)) MB, compressed $((compressed / 1000000)) MB"
    local most=$max_bytes most_compressed=$max_compressed_bytes
    if [[ $image == waymark/standalone:* ]]; then
      most=$max_standalone_bytes most_compressed=$max_standalone_compressed_bytes
    fi
    if [ "$bytes" -gt "$most" ] || [ "$compressed" -gt "$most_compressed" ]; then
      fail "$image is too large"
    fi
  done <<<"$sizes"
}

send_and_read() {
  local demo key id script url="$WAYMARK_URL" deadline=$((SECONDS + deadline_seconds)) found=''
  demo="$("${compose[@]}" run --rm demo 2>/dev/null)" || fail 'demo.json was not printed'
  key="$(field apiKey <<<"$demo")"
  id="$(field projectId <<<"$demo")"
  curl --silent --fail "$url/api/v1/t" -H "X-API-Key: $key" -H 'Content-Type: application/json' \
    -d '{"eventName":"order_placed","visitorId":"visitor-1","eventId":"smoke-1"}' >/dev/null || fail 'the event was not taken'
  until [[ $found == *'"eventId":"smoke-1"'* ]]; do
    [ "$SECONDS" -lt "$deadline" ] || fail 'the event was not stored'
    sleep 0.2
    found="$(curl --silent "$url/api/projects/$id/events?eventId=smoke-1" -H "X-API-Key: $key")"
  done
  echo 'ok: an event went through'
  for path in v1/track track v1/t; do
    curl --silent --fail "$url/$path" --user "$key:" -d '{"event":"smoke","anonymousId":"visitor-1"}' >/dev/null ||
      fail "an event of Segment's protocol was not taken at /$path"
  done
  echo "ok: Segment's protocol is taken"
  script="$(field path <<<"$(curl --silent --fail "$url/w.json")")"
  for path in /w.js "$script"; do
    curl --silent --fail "$url$path" >/dev/null || fail "the browser script was not answered at $path"
  done
  echo 'ok: the browser script is answered'
  [ "$(curl --silent --output /dev/null --write-out '%{http_code}' "$url/internal/backfill/events" -H "X-API-Key: $key" \
    -H 'Content-Type: application/json' -d '{"events":[]}')" = 404 ] || fail 'the proxy leads to /internal/'
  if docker ps --filter "name=^$project" --format '{{.Ports}}' | grep --quiet '0\.0\.0\.0:'; then
    fail 'a port is open to other machines'
  fi
  echo 'ok: only the public paths answer, and only on this machine'
}

# A restart must use the password that the first start created.
check_secrets_stay() {
  local before after
  before="$("${compose[@]}" run --rm -T secrets env 2>/dev/null)"
  "${compose[@]}" up --detach --no-build --force-recreate setup >/dev/null 2>&1 || fail 'the second start failed'
  after="$("${compose[@]}" run --rm -T secrets env 2>/dev/null)"
  [[ $before == DATABASE_PASSWORD=* ]] && [ "$before" = "$after" ] || fail 'the secrets changed'
  echo 'ok: a second start keeps the secrets'
}

# Every app must exit with code 0 on SIGTERM.
check_stop() {
  local app apps
  mapfile -t apps < <(ls apps | grep --invert-match --line-regexp --regexp standalone --regexp console --regexp cli)
  # Named explicitly, because docker-compose 1 would otherwise stop the servers at the same time.
  "${compose[@]}" stop "${apps[@]}" >/dev/null 2>&1
  for app in "${apps[@]}"; do
    [ "$(docker inspect --format '{{.State.ExitCode}}' "$("${compose[@]}" ps --all --quiet "$app" 2>/dev/null || "${compose[@]}" ps --quiet "$app")")" = 0 ] ||
      fail "$app did not stop cleanly"
  done
  echo 'ok: every app stopped cleanly'
}

check_sizes
deploy/docker/smoke-test-standalone.sh
timeout "$deadline_seconds" "${compose[@]}" up --detach --no-build >/dev/null 2>&1 || fail 'not everything started'
echo "ok: everything is up after ${SECONDS}s"
send_and_read
check_secrets_stay
check_stop
