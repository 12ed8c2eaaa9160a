import { describe, expect, it } from 'vitest'
import { decodeText, encodingOf } from './encoding.ts'

const TEXT = 'code;M\u00fcller\nABC-1;10'
const little = Buffer.from(`\uFEFF${TEXT}`, 'utf16le')
const big = Buffer.from(little).swap16()

describe('the encoding of a file', () => {
  it.each([
    ['utf-8', Buffer.from(TEXT)],
    ['utf-8', Buffer.from(`\uFEFF${TEXT}`)],
    ['utf-16le', little],
    ['utf-16be', big],
    ['utf-16le', little.subarray(2)],
    ['utf-16be', big.subarray(2)],
    ['windows-1252', Buffer.from(TEXT, 'latin1')],
  ])('is %s', (encoding, bytes) => {
    expect(encodingOf(bytes)).toBe(encoding)
    expect(decodeText(bytes)).toBe(TEXT)
  })

  it('is UTF-8 when the bytes end within a character, have a zero, or are none', () => {
    expect(encodingOf(Buffer.from('\u00fc').subarray(0, 1))).toBe('utf-8')
    expect(encodingOf(Buffer.from('code\n\0\nABC'))).toBe('utf-8')
    expect(encodingOf(Buffer.alloc(0))).toBe('utf-8')
  })
})
