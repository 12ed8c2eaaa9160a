#!/usr/bin/env bash
# Installs Chromium for the console's browser tests, from Debian or Ubuntu.
set -euo pipefail
for browser in chromium chromium-browser google-chrome; do
  if [ -x "/usr/bin/$browser" ]; then exit; fi
done
if [ "$(id -u)" = 0 ]; then root=(); else root=(sudo); fi
"${root[@]}" apt-get update -qq
"${root[@]}" apt-get install --yes --no-install-recommends chromium >/dev/null
