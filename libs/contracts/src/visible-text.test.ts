import { Type } from 'typebox'
import { describe, expect, it } from 'vitest'
import { trackedEvent } from './http/track-request.ts'
import { Name } from './schema-parts.ts'
import { compileValidator } from './validator.ts'
import { hasVisibleCharacter } from './visible-text.ts'

const INVISIBLE: Record<string, number[]> = {
  'zero-width space, joiners and no-break space': [0x200b, 0x200c, 0x200d, 0xfeff],
  'word joiner and invisible operators': [0x2060, 0x2061, 0x2062, 0x2063, 0x2064],
  'bidirectional controls': [0x061c, 0x200e, 0x200f, 0x202a, 0x202e, 0x2066, 0x2069],
  'soft hyphen and grapheme joiner': [0x00ad, 0x034f],
  'Hangul fillers': [0x115f, 0x1160, 0x3164, 0xffa0],
  'Mongolian and Khmer': [0x17b4, 0x17b5, 0x180b, 0x180e, 0x180f],
  'variation selectors': [0xfe00, 0xfe0f, 0xe0100, 0xe01ef],
  tags: [0xe0000, 0xe0001, 0xe0020, 0xe007f],
  'blank Braille pattern': [0x2800],
  'annotation and musical controls': [0xfff9, 0xfffb, 0x1d173, 0x1d17a],
  'control characters': [0x7f, 0x80, 0x9f],
  'white space': [0x09, 0x20, 0xa0, 0x1680, 0x2003, 0x2028, 0x202f, 0x205f, 0x3000],
}
const texts = Object.entries(INVISIBLE).map(
  ([what, points]) => [what, String.fromCodePoint(...points)] as const,
)

describe('a text', () => {
  it.each(texts)('of nothing but %s is not visible', (_what, text) => {
    for (const character of text) expect(hasVisibleCharacter(character), escape(character)).toBe(false)
    expect(hasVisibleCharacter(text)).toBe(false)
    expect(hasVisibleCharacter(`${text}a${text}`)).toBe(true)
  })

  it.each(['a', '-', '0', 'é', '日本', '👩‍💻', '🏴', '❤️', 'क्ष', '\u0600', '\ufffd'])(
    'of %s is visible',
    (text) => {
      expect(hasVisibleCharacter(text)).toBe(true)
    },
  )
})

describe('a name', () => {
  const named = compileValidator(Type.Object({ name: Name }))
  it.each(texts)('of nothing but %s is refused', (_what, name) => {
    expect(named.check({ name })).toMatchObject({
      field: 'name',
      rule: 'pattern',
      message: expect.stringContaining(
        'must be text with at least one visible character, and without U+0000; got',
      ),
    })
  })

  it('with invisible characters beside visible ones is kept', () => {
    expect(named.fits({ name: '👩\u200d💻 \u200f' })).toBe(true)
  })
})

describe('an event', () => {
  it.each(texts)('whose name or id is nothing but %s is refused', (_what, text) => {
    for (const field of ['eventName', 'eventId', 'visitorId', 'userId', 'sessionId', 'shortLinkCode'])
      expect(trackedEvent.check({ eventName: 'seen', [field]: text })).toMatchObject({
        field,
        rule: 'pattern',
      })
  })

  it('may have empty ids, which count as missing', () => {
    expect(trackedEvent.fits({ eventName: 'seen', visitorId: '', eventId: '' })).toBe(true)
  })
})
