import fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import { previewReply } from './preview-card.ts'

const PLAIN = { title: 'T', description: 'D', image: 'https://shop.example/i.png' }
const pageOf = (card: { title: string; description?: string; image?: string }): string =>
  `${previewReply({ card, shortUrl: 'https://go.example/sale', destination: 'https://shop.example/?a=1&b=2' }).body}`

/** The page without what is between quotes and between tags. */
const skeletonOf = (page: string): string => page.replace(/"[^"<>]*"/g, '""').replace(/>[^<>"]*</g, '><')

describe('the page of a preview card', () => {
  it('has its texts as tags of OpenGraph and Twitter', () => {
    const page = pageOf(PLAIN)
    for (const tag of [
      '<title>T</title>',
      '<link rel="canonical" href="https://go.example/sale">',
      '<meta property="og:title" content="T">',
      '<meta property="og:description" content="D">',
      '<meta property="og:url" content="https://go.example/sale">',
      '<meta property="og:image" content="https://shop.example/i.png">',
      '<meta name="twitter:card" content="summary_large_image">',
      '<a href="https://shop.example/?a=1&amp;b=2">T</a>',
    ])
      expect(page).toContain(tag)
  })

  it('leaves out what a card does not have', () => {
    const page = pageOf({ title: 'T' })
    expect(page).not.toMatch(/description|image/)
    expect(page).toContain('<meta name="twitter:card" content="summary">')
  })

  it('has the same elements for any text', () => {
    const fragments = fc.constantFrom(
      '"',
      "'",
      '<',
      '>',
      '&',
      '</title>',
      '<script>',
      '">',
      'javascript:',
      '\n',
    )
    const text = fc
      .array(fc.oneof(fragments, fc.string({ unit: 'binary' })), { minLength: 1 })
      .map((parts) => `x${parts.join('')}`)
    const skeleton = skeletonOf(pageOf(PLAIN))
    fc.assert(
      fc.property(text, text, text, (title, description, image) => {
        expect(skeletonOf(pageOf({ title, description, image }))).toBe(skeleton)
      }),
      { numRuns: 1_000 },
    )
  })
})
