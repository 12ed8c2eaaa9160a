import fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import { describeUserAgent, isAppAgent } from './user-agent.ts'

const UNKNOWN = {
  bot: false,
  browser: null,
  browserVersion: null,
  os: null,
  osVersion: null,
  device: null,
}

const CHROME =
  'Mozilla/5.0 (Windows NT 10.0; Win64; x64) AppleWebKit/537.36 (KHTML, like Gecko) Chrome/131.0.0.0 Safari/537.36'
const SAFARI_ON_IPHONE =
  'Mozilla/5.0 (iPhone; CPU iPhone OS 17_5 like Mac OS X) AppleWebKit/605.1.15 (KHTML, like Gecko) Version/17.5 Mobile/15E148 Safari/604.1'
const IPAD =
  'Mozilla/5.0 (iPad; CPU OS 16_6 like Mac OS X) AppleWebKit/605.1.15 (KHTML, like Gecko) Version/16.6 Mobile/15E148 Safari/604.1'
const GOOGLEBOT = 'Mozilla/5.0 (compatible; Googlebot/2.1; +http://www.google.com/bot.html)'

describe('describeUserAgent', () => {
  it.each([null, '', '   '])('returns nothing for %j, which is no bot', (header) => {
    expect(describeUserAgent(header)).toEqual(UNKNOWN)
  })

  it.each([
    [
      CHROME,
      { bot: false, browser: 'Chrome', browserVersion: '131.0.0.0', os: 'Windows', device: 'desktop' },
    ],
    [
      SAFARI_ON_IPHONE,
      { bot: false, browser: 'Mobile Safari', os: 'iOS', osVersion: '17.5', device: 'mobile' },
    ],
    [IPAD, { bot: false, os: 'iOS', device: 'tablet' }],
    [GOOGLEBOT, { bot: true, device: null }],
    ['curl/8.9.1', { bot: true, device: null }],
  ])('reads %s', (header, agent) => {
    expect(describeUserAgent(header)).toMatchObject(agent)
  })

  it.each([
    ['okhttp/4.12.0', 'React Native, Kotlin and Java on Android'],
    ['okhttp/5.0.0-alpha.14', 'a pre-release of it'],
    ['Shop/42 CFNetwork/1490.0.4 Darwin/23.2.0', 'URLSession, React Native and Expo on iOS'],
    ['Shop/5.0 (com.example.shop; build:1; iOS 17.5.0) Alamofire/5.9.1', 'Alamofire'],
    ['Dart/3.4 (dart:io)', 'Flutter'],
    ['Flutter/3.22', 'Flutter'],
    ['Dio/5.4', 'Dio of Flutter'],
    ['Dalvik/2.1.0 (Linux; U; Android 14; Pixel 8 Build/UQ1A.240205.002)', 'HttpURLConnection of Android'],
    ['Ktor client', 'Kotlin Multiplatform'],
    ['Volley', 'Volley'],
    ['Cronet/126.0.6478.40', 'Cronet'],
    ['axios/1.7.2', 'axios'],
    ['Expo/1017699 CFNetwork/1490.0.4 Darwin/23.2.0', 'Expo Go on iOS'],
    ['Expo/2.31.2 (Android)', 'Expo Go on Android'],
    ['UnityPlayer/2022.3.10f1 (UnityWebRequest/1.0, libcurl/8.1.1-DEV)', 'Unity'],
    [
      'Mozilla/5.0 (Linux; Android 14; Pixel 8 Build/UQ1A; wv) AppleWebKit/537.36 (KHTML, like Gecko) Version/4.0 Chrome/126.0.0.0 Mobile Safari/537.36',
      'Cordova and Capacitor on Android',
    ],
    [
      'Mozilla/5.0 (iPhone; CPU iPhone OS 17_5 like Mac OS X) AppleWebKit/605.1.15 (KHTML, like Gecko) Mobile/15E148',
      'Cordova and Capacitor on iOS',
    ],
    [
      'Mozilla/5.0 (Macintosh; Intel Mac OS X 10_15_7) AppleWebKit/537.36 (KHTML, like Gecko) Shop/1.0.0 Chrome/124.0.0.0 Electron/30.0.1 Safari/537.36',
      'Electron',
    ],
    ['reqwest/0.12.4', 'Tauri and Rust'],
    ['Java/17.0.9', 'Java'],
    ['Apache-HttpClient/4.5.14 (Java/17.0.9)', 'Java'],
    ['Shop/1.0', 'the name of an app'],
    ['com.example.shop/1.0 (Android 14)', 'the name of an app'],
    ['python-requests/2.32.3', 'Kivy'],
    ['curl/8.9.1', 'a program that embeds libcurl'],
    ['Go-http-client/2.0', 'Go'],
    ['undici', 'Node.js'],
  ])('does not take the app %s for a bot: %s', (header) => {
    expect(describeUserAgent(header, true).bot).toBe(false)
  })

  it.each([
    GOOGLEBOT,
    'Googlebot/2.1',
    'AhrefsBot/7.0',
    'Mozilla/5.0 (X11; Linux x86_64) AppleWebKit/537.36 (KHTML, like Gecko) HeadlessChrome/126.0 Safari/537.36',
    'facebookexternalhit/1.1',
    'Screaming Frog SEO Spider/20.1',
    'SiteChecker/1.0 (+https://checker.example)',
    'okhttp/4.12.0 (compatible; SomeCrawler/1.0)',
  ])('takes %s for a bot, also with the key of an app', (header) => {
    expect(describeUserAgent(header, true).bot).toBe(true)
  })

  it.each([
    ['okhttp/4.12.0', true],
    ['Shop/42 CFNetwork/1490.0.4 Darwin/23.2.0', true],
    ['Dart/3.4 (dart:io)', true],
    ['curl/8.9.1', false],
    ['python-requests/2.32.3', false],
    [GOOGLEBOT, false],
    [CHROME, false],
    [null, false],
  ])('knows whether %j is only sent by apps: %s', (header, isApp) => {
    expect(isAppAgent(header)).toBe(isApp)
  })

  it('reads the first 500 characters', () => {
    const browserAt = (start: number) => describeUserAgent(`${'('.padEnd(start - 1)})Firefox/130.0`).browser
    expect(browserAt(500 - 'Firefox/130.0'.length)).toBe('Firefox')
    expect(browserAt(500)).toBeNull()
  })

  it('quickly returns null or strings that can be stored, for any text', () => {
    const pieces = fc.constantFrom(
      'Mozilla/5.0 ',
      'Chrome/',
      'Android ',
      '(',
      ';',
      ')',
      '1.',
      '\ud83e',
      '🦩',
      ' ',
      '-',
    )
    const nearlyAgent = fc.array(pieces, { maxLength: 200 }).map((parts) => parts.join(''))
    fc.assert(
      fc.property(fc.oneof(fc.string(), nearlyAgent), (header) => {
        for (const value of Object.values(describeUserAgent(header)))
          expect(typeof value !== 'string' || value.isWellFormed()).toBe(true)
      }),
    )
  })
})
