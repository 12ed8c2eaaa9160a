#!/usr/bin/env bash
# Runs the existing image of standalone with a read-only root and without capabilities, and tests it from outside: an event
# is still there after a clean stop and a second start.
set -euo pipefail
cd "$(dirname "$0")/../.."

readonly name="waymark-standalone-$$" deadline_seconds=120
version="$(sed -n 's/^  "version": "\(.*\)",$/\1/p' package.json)"
readonly image="waymark/standalone:${WAYMARK_VERSION:-$version}"

clean_up() {
  docker rm --force "$name" >/dev/null 2>&1 || true
  docker volume rm "$name" >/dev/null 2>&1 || true
}
trap clean_up EXIT

fail() {
  echo "FAILED: standalone: $1" >&2
  docker logs --tail 20 "$name" >&2 || true
  exit 1
}

# Reads a field of a JSON object from standard input.
field() {
  node -e 'let s = ""; process.stdin.on("data", (d) => (s += d)).on("end", () => console.log(JSON.parse(s)[process.argv[1]]))' "$1"
}

# Starts a container on the volume. Sets `url` and waits until it is ready.
start() {
  local deadline=$((SECONDS + deadline_seconds))
  docker run --detach --name "$name" --read-only --cap-drop ALL --security-opt no-new-privileges \
    --env WAYMARK_DEMO_DATA=off --publish 127.0.0.1::8080 --volume "$name:/data" "$image" >/dev/null || fail 'it did not start'
  url="http://$(docker port "$name" 8080/tcp | head --lines 1)"
  until curl --silent --fail --output /dev/null "$url/readyz"; do
    [ "$SECONDS" -lt "$deadline" ] || fail 'it was not ready in time'
    [ "$(docker inspect --format '{{.State.Running}}' "$name")" = true ] || fail 'it has ended'
    sleep 0.2
  done
}

# Stops the container, which must end by itself with code 0, and removes it.
stop() {
  docker stop --time 60 "$name" >/dev/null
  [ "$(docker inspect --format '{{.State.ExitCode}}' "$name")" = 0 ] || fail 'it did not stop cleanly'
  docker rm "$name" >/dev/null
}

start
[ "$(docker exec "$name" id -u)" = 10001 ] || fail 'it does not run as 10001'
demo="$(docker exec "$name" cat /data/demo.json)" || fail 'it has no demo.json'
key="$(field apiKey <<<"$demo")"
project="$(field projectId <<<"$demo")"
curl --silent --fail --output /dev/null "$url/api/v1/t?sync=1" -H "X-API-Key: $key" -H 'Content-Type: application/json' \
  -d '{"eventName":"order_placed","visitorId":"visitor-1","eventId":"smoke-1"}' || fail 'the event was not taken'
curl --silent --fail --output /dev/null "$url/console/" || fail 'there is no console'
stop
start
curl --silent "$url/api/projects/$project/events?eventId=smoke-1" -H "X-API-Key: $key" | grep --quiet '"eventId":"smoke-1"' ||
  fail 'the event is gone after a restart'
stop
echo 'ok: standalone runs as 10001 on a read-only root, stops cleanly, and keeps its data'
