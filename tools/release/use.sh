#!/usr/bin/env bash
# Installs what release.sh has published, each in an empty folder, and uses it.
set -euo pipefail

usage() {
  cat <<USAGE
Usage: use.sh [image...]   the images that were published
  PREFIX, CHART_REGISTRY, NPM_REGISTRY, PLAIN_HTTP   as for release.sh
USAGE
}

if [ "${1:-}" = --help ]; then usage; exit 0; fi
cd "$(dirname "$0")/../.."
version="$(node --print 'require("./package.json").version')"
repository=$PWD
folder="$(mktemp -d)"
trap 'rm -r "$folder"' EXIT
readonly version repository folder
cd "$folder"

step() { echo "use: $1"; }

for app in "$@"; do
  step "the image $app, by its digest"
  digest="$(docker image inspect --format '{{range .RepoDigests}}{{println .}}{{end}}' "$PREFIX$app:$version" |
    grep --max-count 1 --fixed-strings "$PREFIX$app@sha256:")"
  docker image rm --force "$PREFIX$app:$version" >/dev/null
  docker run --rm --read-only --entrypoint node "$digest" --eval 'console.log(process.version, process.getuid())'
done

if [ -n "${CHART_REGISTRY:-}" ]; then
  step 'the chart'
  plain=()
  if [ "${PLAIN_HTTP:-}" = true ]; then plain=(--plain-http); fi
  helm pull "$CHART_REGISTRY/waymark" --version "$version" "${plain[@]}"
  helm template waymark "waymark-$version.tgz" --set demo.enabled=true >demo.yaml
  helm template waymark "waymark-$version.tgz" --values "$repository/release/values.yaml" \
    --values "$repository/deploy/helm/waymark/examples/managed.yaml" >own.yaml
  grep --count '^kind: Deployment' demo.yaml own.yaml
fi

if [ -n "${NPM_REGISTRY:-}" ]; then
  step 'the npm packages'
  echo '{ "type": "module", "private": true }' >package.json
  npm install --silent --no-audit --no-fund --registry "$NPM_REGISTRY" \
    "@waymark/web@$version" "@waymark/client@$version" "waymark@$version"
  node --input-type module --eval '
    import { createClient, ConnectionError } from "@waymark/client"
    import { waymark } from "@waymark/web"
    if (typeof waymark.track !== "function") throw new Error("@waymark/web has no track")
    const client = createClient({ baseUrl: "http://127.0.0.1:1", token: "none", retry: { attempts: 0 } })
    const error = await client.get("/api/auth/me").catch((thrown) => thrown)
    if (!(error instanceof ConnectionError)) throw error
    console.log("@waymark/web and @waymark/client work")
  '
  npx --no-install waymark --version
fi
