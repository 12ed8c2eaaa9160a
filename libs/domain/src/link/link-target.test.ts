import { expect, it } from 'vitest'
import { describeUserAgent } from '../enrichment/user-agent.ts'
import { describeVisitor, fitsTarget } from './link-target.ts'

it.each([
  [
    'Mozilla/5.0 (Linux; Android 14; Pixel 8) AppleWebKit/537.36 (KHTML, like Gecko) Chrome/126.0.0.0 Mobile Safari/537.36',
    'mobile',
    'android',
  ],
  [
    'Mozilla/5.0 (iPad; CPU OS 16_6 like Mac OS X) AppleWebKit/605.1.15 (KHTML, like Gecko) Version/16.6 Mobile/15E148 Safari/604.1',
    'tablet',
    'ios',
  ],
  [
    'Mozilla/5.0 (Macintosh; Intel Mac OS X 10_15_7) AppleWebKit/605.1.15 (KHTML, like Gecko) Version/17.5 Safari/605.1.15',
    'desktop',
    'macos',
  ],
  ['Mozilla/5.0 (Windows NT 10.0; Win64; x64; rv:127.0) Gecko/20100101 Firefox/127.0', 'desktop', 'windows'],
  ['Mozilla/5.0 (X11; Ubuntu; Linux x86_64; rv:127.0) Gecko/20100101 Firefox/127.0', 'desktop', 'linux'],
  ['', null, null],
])('reads %s as %s on %s', (agent, device, os) => {
  expect(describeVisitor(describeUserAgent(agent), 'DE')).toEqual({ device, os, country: 'DE' })
})

it('must match every named property, and an unknown visitor has none', () => {
  const visitor = { device: 'mobile', os: 'ios', country: null }
  expect(fitsTarget({ device: 'mobile' }, visitor)).toBe(true)
  expect(fitsTarget({ device: 'mobile', os: 'ios' }, visitor)).toBe(true)
  expect(fitsTarget({ device: 'mobile', os: 'android' }, visitor)).toBe(false)
  expect(fitsTarget({ os: 'ios', country: 'DE' }, visitor)).toBe(false)
})
