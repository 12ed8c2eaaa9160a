import fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import { isAllowedOrigin, isOriginPattern } from './allowed-origin.ts'

describe('isOriginPattern', () => {
  it.each([
    'https://shop.example',
    'http://localhost:3000',
    'http://127.0.0.1:8080',
    'http://[::1]:8080',
    'https://*.shop.example',
    'https://*.eu.shop.example:8443',
    'http://tauri.localhost',
    'capacitor://localhost',
    'ionic://localhost',
    'tauri://localhost',
    'app://localhost',
    'chrome-extension://abcdefghijklmnopabcdefghijklmnop',
    'moz-extension://3c4b1f6e-2f0c-4a6b-9a3e-0b1c2d3e4f50',
    'safari-web-extension://3C4B1F6E-2F0C-4A6B-9A3E-0B1C2D3E4F50',
  ])('is true for %s', (text) => {
    expect(isOriginPattern(text)).toBe(true)
  })

  it.each([
    '',
    '*',
    'null',
    'shop.example',
    '*.shop.example',
    'https://*',
    'https://*.example',
    'https://*.localhost',
    'https://shop.*.example',
    'https://*.*.shop.example',
    'https://**.shop.example',
    'https://a*.shop.example',
    'https://*shop.example',
    'https://*.1.2.3.4',
    'https://shop.example/',
    'https://*.shop.example/',
    'https://shop.example/path',
    'https://Shop.example',
    'https://shop.example:443',
    'https://*.shop.example:443',
    'https://user@shop.example',
    '*://shop.example',
    'http*://shop.example',
    'wss://shop.example',
    'file://',
    'file://localhost',
    'javascript://localhost',
    'capacitor://',
    'capacitor://localhost/',
    'capacitor://*.localhost',
    'chrome-extension://*',
    'CAPACITOR://localhost',
    'https://shop.example https://b.example',
  ])('is false for %j', (text) => {
    expect(isOriginPattern(text)).toBe(false)
  })
})

describe('isAllowedOrigin', () => {
  const allowed = [
    'https://shop.example',
    'https://*.shop.example',
    'http://*.dev.example:3000',
    'ionic://localhost',
  ]

  it.each([
    'https://shop.example',
    'https://a.shop.example',
    'https://pre-1.shop.example',
    'http://a.dev.example:3000',
    'ionic://localhost',
  ])('is true for %s', (origin) => {
    expect(isAllowedOrigin(allowed, origin)).toBe(true)
  })

  it.each([
    'https://a.b.shop.example',
    'https://.shop.example',
    'https://ashop.example',
    'http://a.shop.example',
    'https://a.shop.example:8443',
    'https://a.shop.example.evil.example',
    'https://evil.example/.shop.example',
    'https://evil.example#.shop.example',
    'http://dev.example:3000',
    'http://a.dev.example',
    'https://*.shop.example',
    'capacitor://localhost',
    'null',
    '',
  ])('is false for %j', (origin) => {
    expect(isAllowedOrigin(allowed, origin)).toBe(false)
  })

  it('allows every page whose label is below an accepted pattern, and no other domain', () => {
    const label = fc.stringMatching(/^[a-z][a-z0-9-]{0,10}[a-z0-9]$/)
    fc.assert(
      fc.property(label, label, label, (one, shop, other) => {
        const pattern = `https://*.${shop}.example`
        expect(isOriginPattern(pattern)).toBe(true)
        expect(isAllowedOrigin([pattern], `https://${one}.${shop}.example`)).toBe(true)
        expect(isAllowedOrigin([pattern], `https://${one}.${shop}.example.${other}`)).toBe(false)
        expect(isAllowedOrigin([pattern], `https://${one}.x${shop}.example`)).toBe(false)
      }),
    )
  })
})
