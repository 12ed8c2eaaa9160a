import { isbot } from 'isbot'
import { UAParser } from 'ua-parser-js'

// Longer ones are attacks or noise, and both libraries match regular expressions.
const MAX_LENGTH = 500

/** What a user agent says it is; `null` is unknown. */
export type UserAgent = {
  bot: boolean
  browser: string | null
  browserVersion: string | null
  os: string | null
  osVersion: string | null
  /** `desktop`, or what the library calls other devices: `mobile`, `tablet`, `smarttv`, `console`, … */
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

/** Whether a `User-Agent` header is a bot's. An unknown agent is not a bot. */
export const isBot = (header: string | null): boolean => isbot(header?.slice(0, MAX_LENGTH))

/** Reads a `User-Agent` header. An unknown agent is not a bot. */
export const describeUserAgent = (header: string | null): UserAgent => {
  const text = header?.slice(0, MAX_LENGTH) ?? ''
  if (text.trim() === '') return UNKNOWN
  const { browser, os, device } = new UAParser(text).getResult()
  const bot = isBot(text)
  return {
    bot,
    browser: browser.name ?? null,
    browserVersion: browser.version ?? null,
    os: os.name ?? null,
    osVersion: os.version ?? null,
    // The library names only devices that are not desktops.
    device: device.type ?? (!bot && browser.name && os.name ? 'desktop' : null),
  }
}
