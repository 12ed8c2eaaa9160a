import { createIsBotFromList, findBotPatterns, isbot, list } from 'isbot'
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

/** Libraries that apps send requests with, and the plain name of an app. isbot takes them for programs. */
const LIBRARIES = [
  'okhttp/4.12.0',
  'Ktor client',
  'Ktor http-client',
  'ktor-client',
  'Flutter/3.22',
  'Dio/5.4',
  'Volley',
  'React Native',
  'UnityPlayer/2022.3.10f1 (UnityWebRequest/1.0, libcurl/8.1.1-DEV)',
  'Unity/2022.3',
  'Cronet/126.0',
  'Xamarin',
  '.NET',
  'RestSharp/106.1',
  'Java/17.0.9',
  'Java-http-client/17.0.9',
  'Apache-HttpClient/4.5.14 (Java/17)',
  'axios/1.7.2',
  'node',
  'node-fetch/1.0',
  'undici',
  'reqwest/0.12',
  'curl/8.9.1',
  'libcurl/8.9.1',
  'Go-http-client/2.0',
  'python-requests/2.32',
  'Python-urllib/3.12',
  'Python/3.12 aiohttp/3.9',
  'python-httpx/0.27',
  'Faraday v2',
  'GuzzleHttp/7',
  'analytics-ios/4.1.8',
  'analytics-android/4.11',
  'Apple-CloudKit',
  'Shop/1.0',
  'com.example.shop/1.0',
]
const PATTERNS_OF_LIBRARIES = new Set(LIBRARIES.flatMap((agent) => findBotPatterns(agent)))
/** Bots name the page that says who they are. */
const ADDRESS = 'https?://'
const isBotAmongApps = createIsBotFromList([
  ...list.filter((pattern) => !PATTERNS_OF_LIBRARIES.has(pattern)),
  ADDRESS,
])

/** Libraries and frameworks that only apps are built with. */
const APPS =
  /okhttp|CFNetwork|Alamofire|Dalvik|\bDart\/|Flutter|\bDio\/|\bktor\b|\bExpo\b|React ?Native|Unity(?:Player|WebRequest|\/)|Cronet|\bVolley\b|Xamarin|Cordova|Capacitor|Electron|Tauri/i

/** Whether a user agent is that of an app, so that `describeUserAgent` must not take its HTTP library for a bot. */
export const isAppAgent = (header: string | null): boolean =>
  header !== null && APPS.test(header.slice(0, MAX_LENGTH))

/**
 * Parses a `User-Agent` header. An unknown agent is not a bot. With `isApp` neither is a library of HTTP clients: apps send
 * the name of theirs.
 */
export const describeUserAgent = (header: string | null, isApp = false): UserAgent => {
  const text = header?.slice(0, MAX_LENGTH) ?? ''
  if (text.trim() === '') return UNKNOWN
  const { browser, os, device } = new UAParser(text).getResult()
  const bot = (isApp ? isBotAmongApps(text) : isbot(text)) || isPreviewBot(text)
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
