#!/usr/bin/env bash
# Publishes the images that build.sh has built. Pushes them, and signs each digest and its software bill of materials
# (SPDX) with cosign. Writes the bills, and a kustomize component and a file of values for Helm that name the images by
# digest.
set -euo pipefail

usage() {
  cat <<USAGE
Usage: PREFIX=registry.example.com/waymark/ release.sh [FOLDER]
  FOLDER       for the bills, the component and the values, default release
  PREFIX       in front of the app's name, as for build.sh
  TAG          default: the version in package.json, which CHANGELOG.md must describe
  COSIGN_KEY   a key of cosign; without it, cosign signs with the identity of the workflow
USAGE
}

fail() { echo "release: $1" >&2; exit 1; }

if [ "${1:-}" = --help ]; then usage; exit 0; fi
cd "$(dirname "$0")/../.."
folder=${1:-release}
version="$(sed -n 's/^  "version": "\(.*\)",$/\1/p' package.json)"
tag=${TAG:-$version}
readonly folder version tag
[ -n "${PREFIX:-}" ] || fail 'set PREFIX to the registry and path of the images'
[ "$tag" = "$version" ] || fail "TAG is $tag, and the version in package.json is $version"
grep --quiet --fixed-strings "## [$version]" CHANGELOG.md || fail "CHANGELOG.md has no section for $version"
for command in docker syft cosign; do
  command -v "$command" >/dev/null || fail "$command is missing"
done

signing=(--yes)
if [ -n "${COSIGN_KEY:-}" ]; then signing+=(--key "$COSIGN_KEY"); fi

# The name of a pushed image with its digest.
digest_of() {
  docker image inspect --format '{{range .RepoDigests}}{{println .}}{{end}}' "$PREFIX$1:$tag" |
    grep --max-count 1 --fixed-strings "$PREFIX$1@sha256:" || fail "$PREFIX$1:$tag has no digest"
}

mkdir -p "$folder"
component="$folder/kustomization.yaml"
cat >"$component.new" <<COMPONENT
# The images of Waymark $version by digest. Add this component to your overlay.
apiVersion: kustomize.config.k8s.io/v1alpha1
kind: Component
images:
COMPONENT
values="$folder/values.yaml"
cat >"$values.new" <<VALUES
# The images of Waymark $version by digest, for the Helm chart.
image:
  prefix: $PREFIX
  digests:
VALUES
for app in $(deploy/docker/build.sh --list); do
  docker push --quiet "$PREFIX$app:$tag"
  image="$(digest_of "$app")"
  syft scan "registry:$image" --quiet --output "spdx-json=$folder/$app.spdx.json"
  cosign sign "${signing[@]}" "$image"
  cosign attest "${signing[@]}" --type spdxjson --predicate "$folder/$app.spdx.json" "$image"
  # It does not run on Kubernetes.
  if [ "$app" = standalone ]; then continue; fi
  echo "  - { name: waymark/$app, newName: ${image%@*}, digest: ${image#*@} }" >>"$component.new"
  echo "    $app: ${image#*@}" >>"$values.new"
done
# Written at the end, so that they never name an image without a signature.
mv "$component.new" "$component"
mv "$values.new" "$values"
