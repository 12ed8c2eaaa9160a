import { variantNumberOf } from '@waymark/domain/link'
import { eventually, services } from '@waymark/testing'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import {
  addLink,
  changeLink,
  DESKTOP,
  PHONE,
  type Redirector,
  startRedirectors,
  type World,
} from './redirector.ts'

const VISITORS = 200

describe.skipIf(!services)('a link with variants', () => {
  let world: World
  let here: Redirector
  let there: Redirector
  let stop: () => Promise<void>

  beforeAll(async () => {
    ;({ world, here, there, stop } = await startRedirectors())
  })
  afterAll(() => stop?.())

  const variants = [
    { key: 'a', destination: 'https://a.example/', weight: 3 },
    { key: 'b', destination: 'https://b.example/', weight: 1 },
    { key: 'off', destination: 'https://off.example/', weight: 0 },
  ]
  const split = (values: object = {}) =>
    addLink(world, { variants, variantKeys: ['gone', 'a', 'b', 'off'], ...values })
  /** Where a visitor is sent, and the number in the id of the click. */
  const visit = async (code: string, visitor: number, { at = here, agent = DESKTOP } = {}) => {
    const response = await at.get(`/s/${code}`, {
      headers: { 'User-Agent': agent, 'X-Forwarded-For': `203.0.${visitor >> 8}.${visitor & 255}` },
    })
    await response.arrayBuffer()
    const { hostname, searchParams } = new URL(response.headers.get('Location') ?? '')
    return { hostname, number: variantNumberOf(searchParams.get('wm_click') ?? '') }
  }
  const visitAll = (code: string, at = here) =>
    Promise.all(Array.from({ length: VISITORS }, (_, visitor) => visit(code, visitor, { at })))

  it('sends each visitor to the same one in every process, split by weight', async () => {
    const { id, code } = await split({ targets: [{ os: 'ios', destination: 'https://ios.example/' }] })
    const places = await visitAll(code)
    expect(await visitAll(code, there)).toEqual(places)
    const toA = places.filter(({ hostname }) => hostname === 'a.example').length
    expect(toA).toBeGreaterThan(VISITORS * 0.6)
    expect(toA).toBeLessThan(VISITORS * 0.9)
    for (const { hostname, number } of places)
      expect([hostname, number]).toEqual(number === 2 ? ['a.example', 2] : ['b.example', 3])
    expect(await visit(code, 1, { agent: PHONE })).toEqual({ hostname: 'ios.example', number: 0 })

    const total = 2 * VISITORS + 1
    await eventually('the clicks are stored', async () => {
      const counts = await world.db.prisma.linkCount.findUnique({ where: { linkId: id } })
      return counts?.clicks === BigInt(total)
    })
    const counted = await world.db.prisma.linkDailyBreakdown.groupBy({
      by: ['value'],
      where: { linkId: id, dimension: 'variant' },
      _sum: { clicks: true },
      orderBy: { value: 'asc' },
    })
    expect(counted.map(({ value, _sum }) => [value, Number(_sum.clicks)])).toEqual([
      ['a', 2 * toA],
      ['b', 2 * (VISITORS - toA)],
    ])
    expect(await world.db.prisma.linkClick.count({ where: { linkId: id, variant: null } })).toBe(1)
  })

  it('keeps the visitors of a variant whose weight grows, and ends with the last variant', async () => {
    const { id, code } = await split()
    const before = await visitAll(code)
    const grown = variants.map((variant) => (variant.key === 'b' ? { ...variant, weight: 3 } : variant))
    await changeLink(world, id, `variants = '${JSON.stringify(grown)}'`)
    const moved = await eventually('the weights are used', async () => {
      const places = await visitAll(code)
      const isMoved = places.some(({ number }, n) => number !== before[n]?.number)
      return isMoved && places
    })
    before.forEach(({ number }, n) => {
      if (number === 3) expect(moved[n]?.number).toBe(3)
    })
    await changeLink(world, id, `variants = '[]'`)
    await eventually('there is one destination', async () => {
      const { hostname, number } = await visit(code, 1)
      return hostname === 'shop.example' && number === 0
    })
  })
})
