#!/usr/bin/env bash
# Installs Chromium for the console's browser tests, from Debian or Ubuntu. Debian has one without windows, which takes less
# processor time.
set -euo pipefail
if [ -x /usr/bin/chromium-headless-shell ]; then exit; fi
if [ "$(id -u)" = 0 ]; then root=(); else root=(sudo); fi
install() { "${root[@]}" apt-get install --yes --no-install-recommends "$1" >/dev/null; }
has_another() {
  for browser in chromium chromium-browser google-chrome; do
    if [ -x "/usr/bin/$browser" ]; then return; fi
  done
  return 1
}
"${root[@]}" apt-get update -qq || has_another
install chromium-headless-shell || has_another || install chromium
