import fc from 'fast-check'
import { v7 as uuidv7, validate, version } from 'uuid'
import { describe, expect, it } from 'vitest'
import { clickTagOf, clickTimeOf, createClickIds, parseClickId, variantNumberOf } from './click-id.ts'

const LINK = '01900000-0000-7000-8000-0123456789ab'

describe('click ids', () => {
  it('are UUIDv7 that contain their time and link', () => {
    const newClickId = createClickIds()
    fc.assert(
      fc.property(fc.nat(2 ** 31 - 1), (seconds) => {
        const linkId = uuidv7()
        const id = newClickId(linkId, seconds * 1_000 + 7)
        expect(validate(id) && version(id)).toBe(7)
        expect(parseClickId(id)).toBe(id)
        expect(clickTimeOf(id)).toBe(seconds * 1_000 + 7)
        expect(clickTagOf(id)).toBe(clickTagOf(linkId))
      }),
    )
  })

  it('contain the number of a variant', () => {
    const newClickId = createClickIds()
    for (let number = 0; number <= 31; number++) {
      const id = newClickId(LINK, 1_000, number)
      expect(parseClickId(id)).toBe(id)
      expect([variantNumberOf(id), clickTimeOf(id), clickTagOf(id)]).toEqual([
        number,
        1_000,
        clickTagOf(LINK),
      ])
    }
  })

  it('are unique for 4,096 clicks on one link in one ms', () => {
    const ids = new Set<string>()
    const newClickId = createClickIds()
    for (let n = 0; n < 4_096; n++) ids.add(newClickId(LINK, 1_000))
    expect(ids.size).toBe(4_096)
  })

  it.each([undefined, 7, '', 'x', uuidv7().slice(1), '01900000-0000-4000-8000-0123456789ab', `${uuidv7()} `])(
    'are not %j',
    (text) => {
      expect(parseClickId(text)).toBeNull()
    },
  )

  it('are read in upper and lower case', () => {
    const id = createClickIds()(LINK, Date.now())
    expect(parseClickId(id.toUpperCase())).toBe(id)
  })
})
