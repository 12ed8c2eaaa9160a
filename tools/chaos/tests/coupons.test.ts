import { setTimeout as sleep } from 'node:timers/promises'
import { eventually, extent, services, untilAvailable } from '@waymark/testing'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { report } from './audit.ts'
import { countHolds, countPool, createPool, poolAtRest, readLedger, readPaidOrders } from './coupons.ts'
import { createFleet, type Fleet, type Replica } from './fleet.ts'

const AT_ONCE = 200
const SIZE = extent(100_000, 1_000_000)

describe.skipIf(!services)('two coupon services', () => {
  let fleet: Fleet
  let pair: Replica[]
  beforeAll(async () => {
    fleet = await createFleet()
    await fleet.start('persistence-consumer')
    await fleet.start('enrichment-consumer')
    pair = [await fleet.start('coupon-service'), await fleet.start('coupon-service')]
  })
  afterAll(() => fleet?.stop())

  it(`redeem a code once for ${AT_ONCE} concurrent requests`, async () => {
    for (let round = 1; round <= extent(3, 20); round++) {
      const { id, codes } = await createPool(fleet, { size: 1 })
      const answers = await Promise.all(
        Array.from({ length: AT_ONCE }, async (_, n) => {
          const [first, second] = pair
          const replica = n % 2 === 0 ? first : second
          if (!replica) throw new Error('there are two')
          const redeem = () =>
            replica.request('/api/v1/coupons/redeem', {
              method: 'POST',
              headers: { 'Content-Type': 'application/json', 'Idempotency-Key': `${id} ${n}` },
              body: JSON.stringify({ code: codes[0], userId: `user ${n}` }),
            })
          // On a busy machine some wait for a connection for too long.
          const response = await untilAvailable(redeem)
          const { reason } = (await response.json()) as { reason?: string }
          return `${response.status} ${reason ?? ''}`
        }),
      )
      const counts = await poolAtRest(fleet, id, round)
      const won = answers.filter((answer) => answer === '200 ').length
      const lost = answers.filter((answer) => answer === '409 already_redeemed').length
      report(`one code redeemed ${AT_ONCE} times at once over two processes`, { won, lost, ...counts })
      expect({ won, lost }).toEqual({ won: 1, lost: AT_ONCE - 1 })
      expect(counts).toEqual({ redemptions: 1, coupons: 1, counted: 1, redeemed: 1, events: round })
    }
  })

  it(`hold carts for ${AT_ONCE} concurrent requests, although one is killed`, async () => {
    const limit = 15
    const { id, codes } = await createPool(fleet, { size: 20 })
    await fleet.db.prisma.couponPool.update({
      where: { id },
      data: {
        discount: { type: 'amount', value: 100, currency: 'EUR' },
        maxRedemptions: limit,
        budgetAmount: limit * 100,
        budgetCurrency: 'EUR',
      },
    })
    const [first, second] = pair
    if (!first || !second) throw new Error('there are two')
    const post = async (replica: Replica, path: string, body: object) => {
      const response = await untilAvailable(() =>
        replica.request(`/api/v1/coupons/${path}`, {
          method: 'POST',
          headers: { 'Content-Type': 'application/json' },
          body: JSON.stringify(body),
        }),
      )
      return (await response.json()) as { holdId?: string }
    }
    const hold = (replica: Replica, code: string | undefined, userId: string) =>
      post(replica, 'validate', {
        code,
        userId,
        currency: 'EUR',
        items: [{ sku: 'a', quantity: 1, unitAmount: 1_000 }],
        hold: 1_800,
      })
    const attempts = Array.from({ length: AT_ONCE }, async (_, n) => {
      const replica = n % 2 === 0 ? first : second
      try {
        const { holdId } = await hold(replica, codes[n % codes.length], `holder ${n}`)
        if (holdId !== undefined && n % 3 === 0) await post(replica, 'redeem', { holdId })
      } catch {
        // The answers of the killed process are lost. The stored rows say what it did.
      }
    })
    await Promise.race(attempts)
    await first.kill()
    await first.restart()
    await Promise.all(attempts)
    const stored = await countHolds(fleet, id)
    report(`${AT_ONCE} carts held at once over two processes, one of them killed`, stored)
    expect(stored).toMatchObject({
      held: stored.items,
      held_amount: stored.charges,
      redeemed: stored.redemptions,
      twice: 0,
    })
    expect(stored.used).toBeLessThanOrEqual(limit)
    expect(stored.amount).toBeLessThanOrEqual(limit * 100)

    // What the killed process held returns by time.
    await fleet.db.pool.query('UPDATE coupon.holds SET expires_at = created_at WHERE project_id = $1', [
      fleet.projectId,
    ])
    await fleet.db.pool.query(
      'UPDATE coupon.hold_items SET expires_at = now() - interval $$1 s$$ WHERE pool_id = $1',
      [id],
    )
    await fleet.db.pool.query(
      'UPDATE coupon.coupons SET held_until = now() - interval $$1 s$$ WHERE pool_id = $1',
      [id],
    )
    for (const [n, code] of codes.entries()) await hold(n % 2 === 0 ? first : second, code, `later ${n}`)
    expect(await countHolds(fleet, id)).toMatchObject({ used: limit, amount: limit * 100, twice: 0 })
  })

  it('take each payment of gift cards once, although both are killed under orders', async () => {
    const [cards, cardAmount, price] = [10, extent(50_000, 200_000), 700]
    const { id } = await createPool(fleet, { size: cards, generate: true, cardAmount })
    const codes = await eventually('the cards are there', async () => {
      const coupons = await fleet.db.prisma.coupon.findMany({ where: { poolId: id } })
      return coupons.length === cards && coupons.map(({ code }) => code)
    })
    /** Sends an order until it is answered, as a shop does that does not know whether its request arrived. */
    const pay = async (n: number) => {
      let requests = 0
      const answer = await eventually(`order ${n} is answered`, async () => {
        const replica = pair[(n + requests++) % 2]
        const response = await replica?.request('/api/v1/coupons/redeem', {
          method: 'POST',
          headers: {
            'Content-Type': 'application/json',
            // The order itself prevents a second payment, also without a key.
            ...(n % 2 === 0 && { 'Idempotency-Key': `gift ${n}` }),
          },
          body: JSON.stringify({
            codes: [codes[n % cards], codes[(n * 3 + 1) % cards]].filter(
              (code, at, all) => all.indexOf(code) === at,
            ),
            orderId: `gift ${n}`,
            currency: 'EUR',
            items: [{ sku: 'a', quantity: 1, unitAmount: price }],
          }),
        })
        if (!response || response.status === 503) return undefined
        const { paymentAmount = 0, reason } = (await response.json()) as {
          paymentAmount?: number
          reason?: string
        }
        return { status: response.status, paymentAmount, reason }
      })
      return { ...answer, orderId: `gift ${n}`, requests }
    }

    const answers: Awaited<ReturnType<typeof pay>>[] = []
    let orders = 0
    let isKilling = true
    const shops = Array.from({ length: 16 }, async () => {
      while (isKilling) answers.push(await pay(orders++))
    })
    let kills = 0
    for (let round = 1; round <= extent(2, 10); round++)
      for (const replica of pair) {
        const before = answers.length
        await eventually('orders are paid', () => answers.length > before + 20)
        await replica.kill()
        kills++
        await replica.restart()
      }
    isKilling = false
    await Promise.all(shops)

    const ledger = await eventually('every payment is an event', async () => {
      const read = await readLedger(fleet, id)
      return read.events === read.payments && read
    })
    const repeated = answers.filter(({ requests }) => requests > 1).length
    report(`orders paid with ${cards} gift cards over two processes, killed ${kills} times`, {
      orders,
      repeated,
      ...ledger,
    })
    const { balance = 0, issued, spent = 0 } = ledger
    expect(ledger).toMatchObject({ unbalanced: 0, wrong: 0, twice: 0 })
    expect({ issued, sum: balance + spent }).toEqual({ issued: cards * cardAmount, sum: cards * cardAmount })
    const outcomes = new Set(answers.map(({ status, reason }) => `${status} ${reason ?? ''}`))
    expect([...outcomes].filter((outcome) => !['200 ', '409 no_balance'].includes(outcome))).toEqual([])
    const paid = await readPaidOrders(fleet, id)
    for (const { orderId, paymentAmount } of answers) {
      expect({ orderId, paid: paid.get(orderId) ?? 0 }).toEqual({ orderId, paid: paymentAmount })
      expect(paymentAmount).toBeLessThanOrEqual(price)
    }
    expect(paid.size).toBe(answers.filter(({ status }) => status === 200).length)
    expect(repeated).toBeGreaterThan(0)
  }, 900_000)

  it(`generate a pool of ${SIZE} together, although both are killed`, async () => {
    const { id } = await createPool(fleet, { size: SIZE, generate: true })
    const pool = () => fleet.db.prisma.couponPool.findUniqueOrThrow({ where: { id } })
    let kills = 0
    for (const replica of [...pair, ...pair]) {
      await sleep(200 + Math.random() * 500)
      if ((await pool()).status === 'generating') kills++
      await replica.kill()
      await replica.restart()
    }
    const { generated } = await eventually(
      'the pool is ready',
      async () => {
        const found = await pool()
        return found.status === 'ready' && found
      },
      extent(120_000, 600_000),
    )
    const { rows } = await fleet.db.pool.query<{ codes: number; different: number }>(
      'SELECT count(*)::int AS codes, count(DISTINCT code)::int AS different FROM coupon.coupons WHERE pool_id = $1',
      [id],
    )
    report(`two generators on a pool of ${SIZE}, killed ${kills} times at work`, { generated, ...rows[0] })
    expect(rows[0]).toEqual({ codes: SIZE, different: SIZE })
    expect(generated).toBe(SIZE)
    expect(await countPool(fleet, id)).toMatchObject({ redemptions: 0 })
  }, 900_000)
})
