import { describe, expect, it } from 'vitest'
import { codeProblem, generateCode, LINK_CODE, visitedCode } from './code.ts'

describe('codeProblem', () => {
  it.each(['abc', 'A_b-9', 'x'.repeat(64), 'spring-sale', 'class-pass', '_a_'])('accepts %s', (code) => {
    expect(codeProblem(code)).toBeUndefined()
  })

  it.each([
    'shiitake',
    'cumin',
    'dickinson',
    'Scunthorpe',
    'cocktails',
    'hancock',
    'analyst',
    'therapist',
    'grape-soda',
    'titanic',
    'essex',
    'assessment',
    'basement',
    'shitake_mushrooms',
    '4554',
    '455',
    '80085',
    'sale-455',
  ])('accepts %s, which only contains an offensive word', (code) => {
    expect(codeProblem(code)).toBeUndefined()
  })

  it.each([
    ['ab', 'pattern'],
    ['x'.repeat(65), 'pattern'],
    ['___', 'pattern'],
    ['a b c', 'pattern'],
    ['äöü', 'pattern'],
    ['a/b', 'pattern'],
    ['a.b', 'pattern'],
    ['abc\n', 'pattern'],
    ['api', 'reserved'],
    ['DOCS', 'reserved'],
    ['healthz', 'reserved'],
    ['fuck', 'offensive'],
    ['5h1t', 'offensive'],
    ['good-shit', 'offensive'],
    ['dicks_sale', 'offensive'],
    ['FuckThis', 'offensive'],
  ])('refuses %j: %s', (code, rule) => {
    expect(codeProblem(code)?.rule).toBe(rule)
  })
})

describe('generateCode', () => {
  it('generates 7 unambiguous characters, uniformly distributed', () => {
    const codes = Array.from({ length: 20_000 }, generateCode)
    expect(new Set(codes).size).toBe(codes.length)
    const counts = new Map<string, number>()
    for (const code of codes) {
      expect(code).toMatch(LINK_CODE)
      expect(code).toMatch(/^[^0O1IilLo]{7}$/)
      for (const character of code) counts.set(character, (counts.get(character) ?? 0) + 1)
    }
    // 140,000 characters over 54: six standard deviations are about 300, and refused words remove a few.
    expect(counts.size).toBe(54)
    for (const count of counts.values()) expect(Math.abs(count - 140_000 / 54)).toBeLessThan(350)
  })
})

describe('visitedCode', () => {
  it.each([
    'summer',
    'summer.',
    'summer ',
    ' summer',
    'summer).',
    'summer\u201d,',
    'summer\u00a0',
    'summer!?',
    'summer\u200b',
    '\ufeffsummer\u2060',
    'summer\u2026',
    '*summer*',
    'summer}',
    'summer\u3002',
    '\u201esummer\u201c',
    'summer\\',
  ])('reads %j', (text) => expect(visitedCode(text)).toBe('summer'))
  it.each(['sum.mer', 'summer/x', 'summer%'])('leaves %j', (text) => expect(visitedCode(text)).toBe(text))
  it('leaves what is longer than any code', () => {
    const long = `a${'.'.repeat(15_000)}b`
    expect(visitedCode(long)).toBe(long)
  })
})
