#!/usr/bin/env bash
# Publishes a version: images, chart and npm packages. The release workflow and rehearse.sh call it.
set -euo pipefail

usage() {
  cat <<USAGE
Usage: release.sh [image...]   default: all images
  PREFIX           in front of the names of images, such as registry.example.com/waymark/
  CHART_REGISTRY   where the chart goes, such as oci://registry.example.com/charts; empty: the chart is only packaged
  NPM_REGISTRY     where the packages go, such as https://npm.example.com; empty: they are only built
  PLAIN_HTTP       true: the registry of the chart has no TLS
  and those of deploy/docker/build.sh and deploy/docker/release.sh
USAGE
}

if [ "${1:-}" = --help ]; then usage; exit 0; fi
cd "$(dirname "$0")/../.."
version="$(node --print 'require("./package.json").version')"
readonly version folder=release
rm -rf "$folder"
mkdir -p "$folder/npm"

step() { echo "release: $1"; }

step 'build the images'
deploy/docker/build.sh "$@"
step 'publish the images'
IMAGES="$*" deploy/docker/release.sh "$folder"

step 'package the chart'
helm package deploy/helm/waymark --version "$version" --app-version "$version" --destination "$folder"
if [ -n "${CHART_REGISTRY:-}" ]; then
  plain=()
  if [ "${PLAIN_HTTP:-}" = true ]; then plain=(--plain-http); fi
  step 'publish the chart'
  helm push "$folder/waymark-$version.tgz" "$CHART_REGISTRY" "${plain[@]}"
fi

step 'build the npm packages'
npm run --silent build --workspace @waymark/web --workspace @waymark/client --workspace @waymark/cli
# The folder of the browser script is a workspace, whose manifest is private.
node tools/release/publishable.mjs libs/web-sdk "$folder/npm/web"
cp -r libs/client/dist "$folder/npm/client"
cp -r apps/cli/dist "$folder/npm/cli"
if [ -n "${NPM_REGISTRY:-}" ]; then
  step 'publish the npm packages'
  for package in web client cli; do
    npm publish "./$folder/npm/$package" --registry "$NPM_REGISTRY" --access public
  done
fi
