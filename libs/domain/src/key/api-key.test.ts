import fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import { generateApiKey, parseApiKey, secretMatches } from './api-key.ts'

const { key, keyId, secretHash } = generateApiKey('sec')
const CHARACTERS = '0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz_- \n\0é'

const secretOf = (text: string) => parseApiKey(text)?.secret ?? ''

describe('an API key', () => {
  it.each(['pub', 'sec'] as const)('of kind %s can be parsed', (kind) => {
    const generated = generateApiKey(kind)
    expect(generated.key).toMatch(/^wm_(pub|sec)_[0-9A-Za-z]{48}$/)
    expect(parseApiKey(generated.key)).toEqual({
      kind,
      keyId: generated.keyId,
      secret: generated.key.slice(17, 49),
    })
  })

  // A golden value, because issued keys must stay valid.
  it('stays valid when it was created by an earlier version', () => {
    expect(parseApiKey('wm_pub_0123456789abcdefghijklmnopqrstuvwxyzABCDEF47OtIh')).toEqual({
      kind: 'pub',
      keyId: '0123456789',
      secret: 'abcdefghijklmnopqrstuvwxyzABCDEF',
    })
  })

  it('is different each time', () => {
    const keys = Array.from({ length: 100 }, () => generateApiKey('sec'))
    expect(new Set(keys.map((one) => one.keyId)).size).toBe(100)
    expect(new Set(keys.map((one) => secretOf(one.key))).size).toBe(100)
  })

  it('is refused with any one character changed', () => {
    for (let at = 0; at < key.length; at++) {
      for (const character of CHARACTERS) {
        if (character === key[at]) continue
        expect(parseApiKey(key.slice(0, at) + character + key.slice(at + 1))).toBeUndefined()
      }
    }
  })

  it('is refused with a character missing, doubled, or swapped with the next', () => {
    for (let at = 0; at < key.length; at++) {
      const [before, after] = [key.slice(0, at), key.slice(at + 1)]
      expect(parseApiKey(before + after)).toBeUndefined()
      expect(parseApiKey(before + key[at] + key[at] + after)).toBeUndefined()
      const swapped = before + after.charAt(0) + key[at] + after.slice(1)
      if (swapped !== key) expect(parseApiKey(swapped)).toBeUndefined()
    }
  })

  it.each(['', `${key}\n`, ` ${key}`, key.toLowerCase(), key.replace('sec', 'pub'), key.repeat(2)])(
    'is not %j',
    (text) => {
      expect(parseApiKey(text)).toBeUndefined()
    },
  )

  it('is not matched by arbitrary text', () => {
    const lookalike = fc.stringMatching(/^wm_(pub|sec)_[0-9A-Za-z]{48}$/)
    fc.assert(
      fc.property(fc.oneof(fc.string({ unit: 'binary' }), lookalike), (text) => {
        expect(parseApiKey(text)).toBeUndefined()
      }),
    )
  })
})

describe('a secret', () => {
  it('matches its own hash and no other', () => {
    expect(secretMatches(secretOf(key), secretHash)).toBe(true)
    expect(secretMatches(secretOf(key), generateApiKey('sec').secretHash)).toBe(false)
    expect(secretMatches(`${secretOf(key)}x`, secretHash)).toBe(false)
    expect(secretMatches('', secretHash)).toBe(false)
  })

  it('matches no hash of another length', () => {
    expect(secretMatches(secretOf(key), secretHash.subarray(0, 31))).toBe(false)
    expect(secretMatches(secretOf(key), Buffer.concat([secretHash, secretHash]))).toBe(false)
    expect(secretMatches(secretOf(key), new Uint8Array())).toBe(false)
  })

  it('cannot be read from what is stored', () => {
    expect(`${keyId}${secretHash.toString('latin1')}`).not.toContain(secretOf(key))
  })
})
