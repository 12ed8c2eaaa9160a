import { type Browser, chromium } from 'playwright-core'
import { CHROMIUM } from './find-chromium.ts'

export { CHROMIUM }

/** Options for a Chromium that connects only to the tested server. */
const CHROMIUM_FLAGS = [
  '--no-sandbox',
  '--disable-gpu',
  '--disable-quic',
  '--no-first-run',
  '--disable-background-networking',
  '--disable-component-update',
  '--disable-sync',
]

export const launchChromium = (): Promise<Browser> =>
  chromium.launch({ executablePath: CHROMIUM ?? '', args: CHROMIUM_FLAGS })
