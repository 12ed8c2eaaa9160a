#!/usr/bin/env bash
# Makes sure that the manifests can be rendered: installs kustomize by Go where neither it nor a usable kubectl is.
set -euo pipefail

readonly version=v5.8.3

if command -v kustomize >/dev/null; then exit 0; fi
# The kubectl of old distributions knows no components.
if kubectl kustomize "$(dirname "$0")/../../deploy/k8s/overlays/local" >/dev/null 2>&1; then exit 0; fi
if ! command -v go >/dev/null; then
  echo 'install-kustomize: there is no kubectl, no kustomize, and no go to install it with' >&2
  exit 1
fi
target=/usr/local/bin
if [ ! -w "$target" ]; then target="$HOME/.local/bin"; fi
mkdir -p "$target"
GOBIN=$target GOFLAGS='' go install "sigs.k8s.io/kustomize/kustomize/v5@$version"
echo "Installed kustomize $version in $target"
