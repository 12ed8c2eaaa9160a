import fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import { describeUserAgent } from './user-agent.ts'

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
