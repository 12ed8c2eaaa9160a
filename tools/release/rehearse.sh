#!/usr/bin/env bash
# Runs a whole release against registries on this machine, and uses what it has published. Needs docker, helm and
# docker-registry (of Debian); with cosign and syft, images are signed and verified as well.
set -euo pipefail

usage() {
  cat <<USAGE
Usage: rehearse.sh [image...]   default: all images
  and the variables of deploy/docker/build.sh
USAGE
}

if [ "${1:-}" = --help ]; then usage; exit 0; fi
cd "$(dirname "$0")/../.."
folder="$(mktemp -d)"
processes=()
stop() {
  for process in "${processes[@]}"; do kill "$process" 2>/dev/null || true; done
  rm -rf "$folder"
}
trap stop EXIT
fail() { echo "rehearse: $1" >&2; exit 1; }
for command in docker helm docker-registry; do
  command -v "$command" >/dev/null || fail "$command is missing"
done

free_port() {
  node --eval 'const s = require("node:net").createServer().listen(0, "127.0.0.1", () => { console.log(s.address().port); s.close() })'
}
wait_for() {
  for _ in $(seq 100); do
    if curl --silent --fail --output /dev/null "$1"; then return; fi
    sleep 0.3
  done
  fail "$1 does not answer"
}

images="$(free_port)"
cat >"$folder/registry.yml" <<REGISTRY
version: 0.1
storage: { filesystem: { rootdirectory: $folder/images } }
http: { addr: "127.0.0.1:$images" }
REGISTRY
docker-registry serve "$folder/registry.yml" >"$folder/registry.log" 2>&1 &
processes+=($!)

packages="$(free_port)"
cat >"$folder/verdaccio.yml" <<VERDACCIO
storage: $folder/packages
uplinks: { upstream: { url: "$(npm config get registry)" } }
packages:
  '{waymark,@waymark/*}': { access: \$all, publish: \$all }
  '**': { access: \$all, proxy: upstream }
log: { type: stdout, format: pretty, level: warn }
VERDACCIO
# One of its dependencies is declared by a tag, which mirrors of the registry may lack.
mkdir "$folder/verdaccio"
echo '{ "dependencies": { "verdaccio": "6.10.4" }, "overrides": { "node-fetch": "2.7.0" } }' >"$folder/verdaccio/package.json"
npm install --prefix "$folder/verdaccio" --silent --ignore-scripts --no-audit --no-fund
"$folder/verdaccio/node_modules/.bin/verdaccio" --config "$folder/verdaccio.yml" --listen "127.0.0.1:$packages" \
  >"$folder/verdaccio.log" 2>&1 &
processes+=($!)
wait_for "http://127.0.0.1:$images/v2/"
wait_for "http://127.0.0.1:$packages/-/ping"

export PREFIX="127.0.0.1:$images/waymark/" CHART_REGISTRY="oci://127.0.0.1:$images/charts" PLAIN_HTTP=true UNRELEASED=true
export NPM_REGISTRY="http://127.0.0.1:$packages/"
# Anybody may publish there, but npm does not try without a token.
printf '//127.0.0.1:%s/:_authToken=none\n' "$packages" >"$folder/npmrc"
export npm_config_userconfig="$folder/npmrc"

if command -v cosign >/dev/null && command -v syft >/dev/null; then
  export COSIGN_PASSWORD=''
  (cd "$folder" && cosign generate-key-pair >/dev/null)
  export COSIGN_KEY="$folder/cosign.key"
else
  echo 'rehearse: cosign or syft is missing, so nothing is signed' >&2
  export SIGNING=off
fi

tools/release/release.sh "$@"
if [ $# = 0 ]; then mapfile -t published < <(deploy/docker/build.sh --list); else published=("$@"); fi
tools/release/use.sh "${published[@]}"
echo 'rehearse: everything was published and used'
