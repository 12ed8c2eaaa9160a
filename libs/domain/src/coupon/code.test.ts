import fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import {
  alphabetProblems,
  checkCharacterOf,
  chosenCode,
  DEFAULT_ALPHABET,
  DEFAULT_CODE_LENGTH,
  drawCodes,
  formatCode,
  guessabilityProblems,
  hasCheckCharacter,
  normalizeCode,
  normalizeCodePrefix,
  randomBitsOf,
} from './code.ts'

const space = { alphabet: DEFAULT_ALPHABET, length: DEFAULT_CODE_LENGTH }
const ALL = '0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZ'
/** Alphabets with an even number of letters and digits. */
const alphabets = fc
  .shuffledSubarray([...ALL], { minLength: 2 })
  .map((characters) => characters.slice(0, characters.length - (characters.length % 2)).join(''))
describe('the check character', () => {
  it('is that of ISO/IEC 7064 for its own alphabets', () => {
    // Published examples of MOD 11,10, and of MOD 37,36 in a Global Release Identifier.
    expect(checkCharacterOf('0794', '0123456789')).toBe('5')
    expect(hasCheckCharacter('A12425GABC1234002M', ALL)).toBe(true)
  })

  it('detects any single wrong character', () => {
    fc.assert(
      fc.property(alphabets, fc.nat(), fc.nat(), fc.nat(), (alphabet, lengthSeed, placeSeed, shift) => {
        const [code = ''] = drawCodes({ alphabet, length: 2 + (lengthSeed % 20), prefix: '' }, 1)
        expect(hasCheckCharacter(code, alphabet)).toBe(true)
        const index = placeSeed % code.length
        const value = alphabet.indexOf(code.charAt(index))
        const wrong = alphabet.charAt((value + 1 + (shift % (alphabet.length - 1))) % alphabet.length)
        expect(hasCheckCharacter(code.slice(0, index) + wrong + code.slice(index + 1), alphabet)).toBe(false)
      }),
    )
  })

  it('detects all but about one in a thousand swapped neighbours', () => {
    let missed = 0
    let swaps = 0
    for (const code of drawCodes({ ...space, prefix: '' }, 3_000)) {
      for (let index = 1; index < code.length; index++) {
        const [a = '', b = ''] = [code.charAt(index - 1), code.charAt(index)]
        if (a === b) continue
        swaps++
        const swapped = code.slice(0, index - 1) + b + a + code.slice(index + 1)
        if (hasCheckCharacter(swapped, space.alphabet)) missed++
      }
    }
    expect(missed / swaps).toBeLessThan(0.01)
  })
})

describe('drawn codes', () => {
  it('have the prefix, the length and only characters of the alphabet', () => {
    fc.assert(
      fc.property(alphabets, fc.integer({ min: 2, max: 40 }), (alphabet, length) => {
        for (const code of drawCodes({ alphabet, length, prefix: 'ab-1' }, 5))
          expect(code).toMatch(new RegExp(`^AB1[${alphabet}]{${length}}$`))
      }),
    )
  })

  it('are unique', () => {
    const codes = drawCodes({ ...space, prefix: '' }, 200_000)
    expect(new Set(codes).size).toBe(200_000)
  })

  it.each([DEFAULT_ALPHABET, '0123456789', ALL, 'AB'])(
    'use all of %s equally, at every position',
    (alphabet) => {
      const n = 60_000
      const codes = drawCodes({ alphabet, length: 6, prefix: '' }, n)
      for (let index = 0; index < 6; index++) {
        const counts = Map.groupBy(codes, (code) => code.charAt(index))
        const expected = n / alphabet.length
        const chiSquare = [...alphabet]
          .map((character) => ((counts.get(character)?.length ?? 0) - expected) ** 2 / expected)
          .reduce((sum, part) => sum + part, 0)
        // Mean k-1 and deviation √(2(k-1)); seven deviations occur by chance about once in billions of runs.
        const freedom = alphabet.length - 1
        expect(chiSquare).toBeLessThan(freedom + 7 * Math.sqrt(2 * freedom) + 10)
      }
    },
  )
})

describe('a code', () => {
  it.each([
    'abcd-efgh',
    ' ABCD efgh',
    'AB–CD—EF‑GH',
    'ＡＢＣＤＥＦＧＨ',
    'ABCD\u2212EFGH',
    'ABCD\u30fcEFGH',
    'ABCD\u2500EFGH',
    '\ufeffABCDEFGH\u200b',
    '\u200eABCD\u200fEFGH\u202c',
    '\u2066ABCDEFGH\u2069',
    'ABCD\u00adEFGH',
    'ABCD\ufe0fEFGH',
    'ABCD\u{e0100}EFGH',
    'ABCD\u00a0EFGH',
    'ABCD\u2060EFGH',
    'ABCD\u034fEFGH',
    'ABCD\u2800EFGH\u3164',
    'ABCDEFGH\r\n',
    '"ABCD-EFGH"',
    "'abcdefgh'",
    ' “ABCD EFGH” ',
    '„ABCDEFGH“',
    '«\u00a0ABCDEFGH\u00a0»',
    '「ＡＢＣＤＥＦＧＨ」',
    '`ABCDEFGH`',
    '"“ABCDEFGH”"',
  ])('%j is ABCDEFGH', (typed) => {
    expect(normalizeCode(typed)).toBe('ABCDEFGH')
  })

  it('is the same with any dashes, spaces and invisible characters anywhere', () => {
    const ignored = fc
      .integer({ min: 0, max: 0x10ffff })
      .filter((point) => point < 0xd800 || point > 0xdfff)
      .map((point) => String.fromCodePoint(point))
      .filter((text) => /[\p{Pd}\p{Zs}\p{Cf}\p{Variation_Selector}\p{Bidi_Control}\u2212]/u.test(text))
    const common = fc.constantFrom(
      ...'\u200b\u200c\u200d\u200e\u202a\u2060\u00ad\ufeff\ufe0e\u00a0\u2011\u2014\u2212',
    )
    fc.assert(
      fc.property(
        fc.stringMatching(/^[A-Z0-9_.]{3,20}$/),
        fc.array(fc.tuple(fc.nat(), fc.oneof({ weight: 50, arbitrary: common }, ignored)), { maxLength: 30 }),
        (code, insertions) => {
          const characters = insertions.reduce(
            (known, [seed, inserted]) => known.toSpliced(seed % (known.length + 1), 0, inserted),
            [...code],
          )
          const pasted = characters.join('')
          expect(normalizeCode(pasted.toLowerCase())).toBe(code)
          expect(chosenCode(pasted)?.code).toBe(code)
          expect(chosenCode(pasted)?.display).toMatch(/^[A-Z0-9_. -]+$/)
        },
      ),
    )
  })

  it('is shown with plain dashes and without what is invisible', () => {
    expect(chosenCode('\ufeff summer\u00a0\u00a020\u2212a\u200bb\u2014c ')).toEqual({
      code: 'SUMMER20ABC',
      display: 'SUMMER 20-AB-C',
    })
    expect(chosenCode('“ Summer 20 ”')).toEqual({ code: 'SUMMER20', display: 'SUMMER 20' })
    expect(chosenCode('A')).toBeUndefined()
  })

  it.each(['', 'AB', '☃☃☃', 'A\0BC', "A'B;C", 'AB"C', '"AB"', 'A'.repeat(65), `${'-'.repeat(300)}ABC`])(
    'is not %j',
    (typed) => {
      expect(normalizeCode(typed)).toBeUndefined()
    },
  )

  it('has 3 to 64 characters', () => {
    for (const length of [3, 64]) expect(normalizeCode('A'.repeat(length))).toBe('A'.repeat(length))
  })

  it('is found as displayed, in lower case, and with dashes anywhere', () => {
    fc.assert(
      fc.property(
        alphabets,
        fc.integer({ min: 3, max: 40 }),
        fc.stringMatching(/^[A-Za-z0-9-]{0,20}$/),
        fc.nat(),
        (alphabet, length, prefix, seed) => {
          const [code = ''] = drawCodes({ alphabet, length, prefix }, 1)
          const shown = formatCode(code, prefix)
          const dashed = `${code.slice(0, seed % code.length)}-${code.slice(seed % code.length)}`
          for (const typed of [shown, shown.toLowerCase(), dashed]) expect(normalizeCode(typed)).toBe(code)
        },
      ),
    )
  })

  it('is displayed in groups, none of them a single character', () => {
    expect(formatCode('SUMMERABCDEFGHJKMN', 'SUMMER')).toBe('SUMMER-ABCD-EFGH-JKMN')
    expect(formatCode('ABCDEFGHJ', '')).toBe('ABCD-EFGHJ')
    expect(formatCode('ABC', '')).toBe('ABC')
  })

  it('is found by a typed prefix', () => {
    expect(normalizeCodePrefix('sum-')).toBe('SUM')
    expect(normalizeCodePrefix("'; DROP")).toBeUndefined()
  })
})

describe('a code space', () => {
  it('has 73.6 random bits by default, without the check character', () => {
    expect(randomBitsOf(space)).toBeCloseTo(15 * Math.log2(30))
    expect(DEFAULT_ALPHABET).not.toMatch(/[ILOU01]/)
    expect(guessabilityProblems(space, 100_000_000)).toEqual([])
  })

  it('is refused below 60 bits, with the number', () => {
    const alphabet = ALL.slice(0, 32)
    expect(guessabilityProblems({ alphabet, length: 13 }, 1)).toEqual([])
    expect(guessabilityProblems({ alphabet, length: 12 }, 1)[0]).toMatchObject({
      field: 'length',
      rule: 'random_bits',
      expected: 60,
      actual: 55,
    })
  })

  it('is refused when it is too small for the number of codes', () => {
    const dense = { alphabet: ALL.slice(0, 32), length: 13 }
    expect(guessabilityProblems(dense, 2 ** 24)).toEqual([])
    expect(guessabilityProblems(dense, 2 ** 24 + 1_000_000)).toMatchObject([{ actual: 60 }])
  })

  it.each([
    ['ABC', 'even'],
    ['ABAC', 'unique'],
    ['aA', 'unique'],
    ['AB-C', 'characters'],
    ['ÄB', 'characters'],
  ])('refuses the alphabet %s', (alphabet, rule) => {
    expect(alphabetProblems(alphabet.toUpperCase())).toMatchObject([{ field: 'alphabet', rule }])
  })

  it('requires an alphabet with an even number of letters and digits', () => {
    expect(alphabetProblems('AB12')).toEqual([])
  })
})
