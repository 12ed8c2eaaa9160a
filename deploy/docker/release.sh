#!/usr/bin/env bash
# Publishes the images that build.sh has built. Pushes them, signs each digest and its software bill of materials (SPDX)
# with cosign, and verifies the signature. Writes the bills, and a kustomize component and a file of values for Helm that name the images by
# digest.
set -euo pipefail

usage() {
  cat <<USAGE
Usage: PREFIX=registry.example.com/waymark/ release.sh [FOLDER]
  FOLDER       for the bills, the component and the values, default release
  PREFIX       in front of the app's name, as for build.sh
  TAG          default: the version in package.json, which CHANGELOG.md must describe
  IMAGES       the names of the images, default: all
  COSIGN_KEY   a key of cosign, with its public key beside it as .pub; without it, cosign signs with the identity of the
               workflow, which COSIGN_IDENTITY and COSIGN_ISSUER name
  UNRELEASED   true: for a rehearsal, CHANGELOG.md need not describe the version
  SIGNING      off: for a rehearsal without cosign and syft, nothing is signed and there are no bills
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
if [ "${UNRELEASED:-}" != true ]; then
  grep --quiet --fixed-strings "## [$version]" CHANGELOG.md || fail "CHANGELOG.md has no section for $version"
fi
commands=(docker)
if [ "${SIGNING:-on}" != off ]; then commands+=(syft cosign); fi
for command in "${commands[@]}"; do
  command -v "$command" >/dev/null || fail "$command is missing"
done

signing=(--yes)
verifying=(--certificate-identity "${COSIGN_IDENTITY:-}" --certificate-oidc-issuer "${COSIGN_ISSUER:-}")
if [ -n "${COSIGN_KEY:-}" ]; then
  signing+=(--key "$COSIGN_KEY")
  verifying=(--key "${COSIGN_KEY%.key}.pub")
fi

# Signs an image and its bill of materials, and checks that the registry has the signature.
sign() {
  syft scan "registry:$2" --quiet --output "spdx-json=$folder/$1.spdx.json"
  cosign sign "${signing[@]}" "$2"
  cosign attest "${signing[@]}" --type spdxjson --predicate "$folder/$1.spdx.json" "$2"
  cosign verify "${verifying[@]}" "$2" >/dev/null
}

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
for app in ${IMAGES:-$(deploy/docker/build.sh --list)}; do
  docker push --quiet "$PREFIX$app:$tag"
  image="$(digest_of "$app")"
  if [ "${SIGNING:-on}" != off ]; then sign "$app" "$image"; fi
  # It does not run on Kubernetes.
  if [ "$app" = standalone ]; then continue; fi
  echo "  - { name: waymark/$app, newName: ${image%@*}, digest: ${image#*@} }" >>"$component.new"
  echo "    $app: ${image#*@}" >>"$values.new"
done
# Written at the end, so that they never name an image without a signature.
mv "$component.new" "$component"
mv "$values.new" "$values"
