import fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import { escapeHtml } from './escape-html.ts'

const read = (html: string): string =>
  html
    .replaceAll('&lt;', '<')
    .replaceAll('&gt;', '>')
    .replaceAll('&quot;', '"')
    .replaceAll('&#39;', "'")
    .replaceAll('&amp;', '&')

describe('escapeHtml', () => {
  it('leaves nothing that ends an attribute or an element, and loses nothing', () => {
    const fragments = fc.constantFrom('<', '>', '"', "'", '&', '&lt;', '&amp;#39;', '</title>', '-->', 'é')
    const text = fc.array(fc.oneof(fragments, fc.string({ unit: 'binary' }))).map((parts) => parts.join(''))
    fc.assert(
      fc.property(text, (given) => {
        const escaped = escapeHtml(given)
        expect(escaped).not.toMatch(/[<>"']/)
        expect(read(escaped)).toBe(given)
      }),
      { numRuns: 1_000 },
    )
  })
})
