import { isbot } from 'isbot'
import { UAParser } from 'ua-parser-js'
import { isPreviewBot } from '../link/preview-bot.ts'

// Limits the time of the regular expressions in both libraries.
const MAX_LENGTH = 500

/** A parsed user agent. `null` means unknown. */
export type UserAgent = {
  bot: boolean
  browser: string | null
  browserVersion: string | null
  os: string | null
  osVersion: string | null
  /** `desktop`, or a name of ua-parser-js: `mobile`, `tablet`, `smarttv`, `console`, … */
  device: string | null
}

const UNKNOWN: UserAgent = {
  bot: false,
  browser: null,
  browserVersion: null,
  os: null,
  osVersion: null,
  device: null,
}

/** Parses a `User-Agent` header. An unknown agent is not a bot. */
export const describeUserAgent = (header: string | null): UserAgent => {
  const text = header?.slice(0, MAX_LENGTH) ?? ''
  if (text.trim() === '') return UNKNOWN
  const { browser, os, device } = new UAParser(text).getResult()
  const bot = isbot(text) || isPreviewBot(text)
  return {
    bot,
    browser: browser.name ?? null,
    browserVersion: browser.version ?? null,
    os: os.name ?? null,
    osVersion: os.version ?? null,
    // The library has no name for desktops.
    device: device.type ?? (!bot && browser.name && os.name ? 'desktop' : null),
  }
}
