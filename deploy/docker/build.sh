#!/usr/bin/env bash
# Builds the images of all apps, or of the named ones.
set -euo pipefail

readonly apps=(
  ingest-gateway enrichment-consumer persistence-consumer management-api
  link-redirector coupon-service decision-service email-consumer webhook-dispatcher setup standalone
)

usage() {
  cat <<EOF
Usage: build.sh [app...]
       build.sh --list     prints the names of the apps
  PREFIX           in front of the app's name, default waymark/
  TAG              default: the version in package.json
  NODE_IMAGE       what the images stand on, default node:24-bookworm-slim
  DEBIAN_IMAGE     what the image of standalone stands on, with Node.js from NODE_IMAGE, default debian:bookworm-slim
  EXTRA_CA_FILE    certificates in PEM that npm is to trust while it builds, behind a proxy or a registry of your own
  npm_config_registry, http_proxy, https_proxy, no_proxy   reach the build, and stay out of the images
EOF
}

if [ "${1:-}" = --help ]; then usage; exit 0; fi
if [ "${1:-}" = --list ]; then printf '%s\n' "${apps[@]}"; exit 0; fi

cd "$(dirname "$0")/../.."
version="$(sed -n 's/^  "version": "\(.*\)",$/\1/p' package.json)"
prefix=${PREFIX-waymark/}
tag=${TAG:-$version}
node_image=${NODE_IMAGE:-node:24-bookworm-slim}
build_image=$node_image
readonly version prefix tag node_image
readonly runtime_image="${prefix}runtime-base"

# Debian with Node.js and without npm. It leaves room for PostgreSQL and DuckDB.
make_runtime_image() {
  printf 'FROM %s AS node\nFROM %s\nCOPY --from=node /usr/local/bin/node /usr/local/bin/node\nRUN node --version\n' \
    "$node_image" "${DEBIAN_IMAGE:-debian:bookworm-slim}" | docker build --quiet --tag "$runtime_image" -
}

# The image that runs the build steps: the base, plus the certificates.
make_build_image() {
  local context
  context="$(mktemp -d)"
  cp "$1" "$context/ca.pem"
  printf 'FROM %s\nCOPY ca.pem /etc/ssl/extra-ca.pem\nENV NODE_EXTRA_CA_CERTS=/etc/ssl/extra-ca.pem\n' \
    "$node_image" >"$context/Dockerfile"
  build_image="${prefix}build-base"
  docker build --quiet --tag "$build_image" "$context"
  rm -r "$context"
}

if [ -n "${EXTRA_CA_FILE:-}" ]; then make_build_image "$EXTRA_CA_FILE"; fi

arguments=(
  --build-arg "NODE_IMAGE=$node_image"
  --build-arg "BUILD_IMAGE=$build_image"
  --build-arg "VERSION=$version"
  --build-arg "REVISION=$(git rev-parse HEAD 2>/dev/null || echo unknown)"
)
for name in npm_config_registry http_proxy https_proxy no_proxy; do
  if [ -n "${!name:-}" ]; then arguments+=(--build-arg "$name"); fi
done

selected=("$@")
if [ ${#selected[@]} = 0 ]; then selected=("${apps[@]}"); fi
app=${selected[0]}
runtime=$node_image
if [ "$app" = standalone ]; then
  make_runtime_image
  runtime=$runtime_image
fi
docker build --file deploy/docker/Dockerfile --build-arg "APP=$app" --build-arg "RUNTIME_IMAGE=$runtime" "${arguments[@]}" \
  --tag "$prefix$app:$tag" .
# The first one has made the stages that all share. Of the others two at a time, because they wait for the disk.
if [ ${#selected[@]} -gt 1 ]; then printf '%s\n' "${selected[@]:1}" | xargs -n 1 -P 2 deploy/docker/build.sh; fi
