import { setTimeout as sleep } from 'node:timers/promises'
import { eventually, extent, services } from '@waymark/testing'
import { v7 as uuidv7 } from 'uuid'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { expectStoredOnce, report } from './audit.ts'
import { countPool, createPool, poolAtRest } from './coupons.ts'
import { createFleet, type Fleet, type Replica } from './fleet.ts'
import { startLoad } from './load.ts'

const KILLS = extent(3, 12)
const CLICKERS = 4
/** A click answered within this time before the kill may be lost, in ms. */
const CLICK_AT_RISK_MS = 1_000

/**
 * Kills it repeatedly, at a random moment of its first second, and starts it again each time. Returns the longest time
 * from a kill until it was ready, in s.
 */
const killRepeatedly = async (replica: Replica, onKill: () => void = () => {}): Promise<number> => {
  let slowestMs = 0
  for (let n = 0; n < KILLS; n++) {
    await sleep(50 + Math.random() * 1_000)
    onKill()
    const killedAt = performance.now()
    await replica.kill()
    await replica.restart()
    slowestMs = Math.max(slowestMs, performance.now() - killedAt)
  }
  return Math.round(slowestMs / 100) / 10
}

describe.skipIf(!services)('a process that is killed under load', () => {
  let fleet: Fleet
  let pipeline: Awaited<ReturnType<Fleet['startPipeline']>>
  beforeAll(async () => {
    fleet = await createFleet()
    pipeline = await fleet.startPipeline()
  })
  afterAll(() => fleet?.stop())

  it.each(['gateway', 'enrichment', 'persistence'] as const)(
    'loses and repeats no event: %s',
    async (name) => {
      const { stop } = startLoad({ name: `killed-${name}`, send: pipeline.gateway.request, batch: 5 })
      await killRepeatedly(pipeline[name])
      await expectStoredOnce(fleet, await stop(), `${name} killed ${KILLS} times under load`)
    },
    300_000,
  )

  it('redeems each code once: coupon-service', async () => {
    const coupons = await fleet.start('coupon-service')
    const { id, codes } = await createPool(fleet, { size: 2_000 })
    const waiting = [...codes]
    let redeemed = 0
    let repeated = 0
    let going = true
    const redeem = async (code: string): Promise<boolean> => {
      const init = {
        method: 'POST',
        headers: { 'Content-Type': 'application/json', 'Idempotency-Key': code },
        body: JSON.stringify({ code, userId: `user of ${code}` }),
      }
      const status = await coupons.request('/api/v1/coupons/redeem', init).then(
        (response) => response.status,
        () => 0,
      )
      // A repeated request with an idempotency key gets the first response, whether or not it was received.
      if (status === 200) return true
      expect([0, 503]).toContain(status)
      return false
    }
    const clients = Array.from({ length: 4 }, async () => {
      for (let code = waiting.pop(); going && code !== undefined; code = waiting.pop()) {
        while (!(await redeem(code))) {
          repeated++
          await sleep(100)
        }
        redeemed++
      }
    })
    await killRepeatedly(coupons)
    going = false
    await Promise.all(clients)
    const counts = await poolAtRest(fleet, id, redeemed)
    report(`coupon-service killed ${KILLS} times under load`, {
      redeemed,
      repeated,
      ...counts,
      missing: redeemed - (counts.redemptions ?? 0),
      twice: (counts.redemptions ?? 0) - (counts.coupons ?? 0),
    })
    expect(counts).toEqual({
      redemptions: redeemed,
      coupons: redeemed,
      counted: redeemed,
      redeemed,
      events: redeemed,
    })
    expect(redeemed).toBeGreaterThan(KILLS)
  }, 300_000)

  it('stores each click once, except those of its last moments: link-redirector', async () => {
    const redirector = await fleet.start('link-redirector')
    const linkId = uuidv7()
    await fleet.db.prisma.shortLink.create({
      data: {
        id: linkId,
        projectId: fleet.projectId,
        code: 'chaos',
        status: 'active',
        tags: [],
        destination: 'https://shop.example/',
      },
    })
    const answeredAt = new Map<string, number>()
    const killedAt: number[] = []
    let going = true
    let unanswered = 0
    const headers = { 'User-Agent': 'Mozilla/5.0 (X11; Linux x86_64) Chrome/126.0.0.0 Safari/537.36' }
    const clickers = Array.from({ length: CLICKERS }, async () => {
      while (going) {
        try {
          const response = await redirector.request('/s/chaos', { headers, redirect: 'manual' })
          expect(response.status).toBe(302)
          const clickId = new URL(response.headers.get('Location') ?? '').searchParams.get('wm_click')
          answeredAt.set(clickId ?? '', performance.now())
        } catch (error) {
          if (!(error instanceof TypeError)) throw error
          unanswered++
          await sleep(50)
        }
        await sleep(2)
      }
    })
    const readyAfter = await killRepeatedly(redirector, () => void killedAt.push(performance.now()))
    await sleep(1_000)
    going = false
    await Promise.all(clickers)
    expect(await redirector.terminate()).toMatchObject({ exitCode: 0 })

    const atRisk = (answered: number): boolean =>
      killedAt.some((killed) => answered <= killed + 50 && killed - answered < CLICK_AT_RISK_MS)
    const missing = async () => {
      const { rows } = await fleet.db.pool.query<{ id: string }>(
        'SELECT id FROM link.clicks WHERE link_id = $1',
        [linkId],
      )
      const stored = new Set(rows.map(({ id }) => id))
      return { stored: stored.size, missing: [...answeredAt].filter(([id]) => !stored.has(id)) }
    }
    await eventually('all others are stored', async () =>
      (await missing()).missing.every(([, answered]) => atRisk(answered)),
    ).catch(() => {})
    const { stored, missing: lost } = await missing()
    const [count] = await fleet.db.prisma.linkCount.findMany({ where: { linkId } })
    report(`link-redirector killed ${KILLS} times under load`, {
      'redirects answered': answeredAt.size,
      'without answer': unanswered,
      'clicks stored': stored,
      'lost in the last moment': lost.length,
      'ready again after at most, in s': readyAfter,
      twice: Number(count?.clicks ?? 0) - stored,
    })
    expect(lost.filter(([, answered]) => !atRisk(answered))).toEqual([])
    expect(Number(count?.clicks)).toBe(stored)
    expect(await countPool(fleet, linkId)).toMatchObject({ redemptions: 0 })
  }, 300_000)

  it('is ready again soon: decision-service', async () => {
    const startedAt = performance.now()
    const decisions = await fleet.start('decision-service')
    const firstStart = Math.round((performance.now() - startedAt) / 100) / 10
    const readyAfter = await killRepeatedly(decisions)
    report(`decision-service killed ${KILLS} times`, {
      'first ready after, in s': firstStart,
      'ready again after at most, in s': readyAfter,
    })
    // A start waits for the processor only, which other tests may use at the same time: the first one shows how much.
    expect(readyAfter).toBeLessThan(15 + 3 * firstStart)
  }, 300_000)
})
