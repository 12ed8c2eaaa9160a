import { existsSync } from 'node:fs'

/** The Chromium of this machine; undefined if there is none. */
export const CHROMIUM = ['/usr/bin/chromium', '/usr/bin/chromium-browser', '/usr/bin/google-chrome'].find(
  (file) => existsSync(file),
)
