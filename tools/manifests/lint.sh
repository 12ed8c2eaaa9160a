#!/usr/bin/env bash
# Lints the rendered overlays and the Helm chart by helm, kubernetes-validate and checkov. Installs the last two from PyPI
# into a folder of their own.
set -euo pipefail
cd "$(dirname "$0")/../../deploy"

readonly packages=(checkov==3.3.30 kubernetes-validate==1.37.0) kubernetes=1.34
# Rules of checkov that are not followed; docs/cluster-test.md says why.
readonly not_followed=CKV_K8S_11,CKV_K8S_15,CKV_K8S_43
readonly not_by_chart=CKV_K8S_21
readonly not_by_local_servers=CKV_K8S_8,CKV_K8S_22,CKV_K8S_35,CKV_K8S_38,CKV_K8S_40
environment="${XDG_CACHE_HOME:-$HOME/.cache}/waymark-lint"
rendered="$(mktemp -d)"
trap 'rm -r "$rendered"' EXIT

if [ ! -x "$environment/bin/checkov" ] || [ ! -x "$environment/bin/kubernetes-validate" ]; then
  python3 -m venv "$environment"
  "$environment/bin/pip" install --quiet "${packages[@]}"
fi
if command -v kustomize >/dev/null; then kustomize=(kustomize build); else kustomize=(kubectl kustomize); fi
for overlay in local production operators; do "${kustomize[@]}" "k8s/overlays/$overlay" >"$rendered/$overlay.yaml"; done
readonly chart=(helm/waymark --namespace waymark --set mail.from=waymark@example.com)
helm template waymark "${chart[@]}" >"$rendered/chart.yaml"

# check FILE… RULES: RULES are left out
check() {
  local files=("${@:1:$#-1}")
  "$environment/bin/checkov" --framework kubernetes --compact --quiet --skip-download \
    --skip-check "${!#}" "${files[@]/#/--file=$rendered/}"
}

helm lint --quiet "${chart[@]}"
# It knows no resources of operators, which `npm run test:cluster` checks.
"$environment/bin/kubernetes-validate" --quiet --no-warn --strict -k "$kubernetes" "$rendered"/*.yaml
check production.yaml operators.yaml "$not_followed"
check chart.yaml "$not_followed,$not_by_chart"
check local.yaml "$not_followed,$not_by_local_servers"
echo 'The manifests and the chart pass helm lint, kubernetes-validate and checkov'
