import { Readable } from 'node:stream'
import { openDatabase } from '@waymark/database'
import { drawCodes } from '@waymark/domain/coupon'
import { createAssignCoupon, insertCoupons } from '@waymark/pipeline'
import { readConfig } from '@waymark/service-kit'
import { createTestDatabase, eventually, extent, services } from '@waymark/testing'
import { v7 as uuidv7 } from 'uuid'
import { afterAll, beforeAll, beforeEach, describe, expect, it } from 'vitest'
import { quotasConfig } from '../src/config.ts'
import { exportCodes, importCodes } from '../src/coupons/coupon-csv.ts'
import { listCoupons, revokeCoupons } from '../src/coupons/coupon-list-queries.ts'
import { createPool } from '../src/coupons/coupon-pool-queries.ts'
import { newPoolValues } from '../src/coupons/coupon-pool-values.ts'
import { rollBackPart, rollBackRedemption } from '../src/coupons/rollback-queries.ts'

const discount = { type: 'percent', value: 10 }

const quotas = readConfig(quotasConfig, {})

describe.skipIf(!services)('managing coupons', () => {
  let database: Awaited<ReturnType<typeof createTestDatabase>>
  let db: ReturnType<typeof openDatabase>
  let projectId: string

  beforeAll(async () => {
    database = await createTestDatabase()
    db = openDatabase({ url: database.url, poolSize: 20, applicationName: 'test', onError: () => {} })
  })
  beforeEach(async () => {
    const tenant = { create: { id: uuidv7(), name: 'Shop' } }
    projectId = (await db.prisma.project.create({ data: { id: uuidv7(), name: 'Shop', tenant } })).id
  })
  afterAll(async () => {
    await db.close()
    await database.drop()
  })

  const create = (values: Partial<Parameters<typeof newPoolValues>[0]> = {}) =>
    createPool(db, projectId, newPoolValues({ name: 'Summer', kind: 'unique', discount, ...values }), quotas)
  const fill = async (id: string, codes: readonly string[]) => {
    await db.transaction((client) =>
      insertCoupons(
        client,
        { id, projectId },
        codes.map((code) => ({ code, display: null })),
      ),
    )
    return db.prisma.coupon.findMany({ where: { poolId: id }, orderBy: { id: 'asc' } })
  }
  const poolOf = (id: string) =>
    db.prisma.couponPool.findUniqueOrThrow({ where: { id }, include: { count: true } })
  const draw = (count: number) =>
    drawCodes({ alphabet: 'ABCDEFGHJKMNPQRSTVWXYZ23456789', length: 16, prefix: '' }, count)
  const read = async (text: AsyncIterable<string>) => {
    const parts: string[] = []
    for await (const part of text) parts.push(part)
    return parts
  }

  describe('importing', () => {
    const importText = async (id: string, ...parts: string[]) =>
      importCodes(db, { id, projectId }, Readable.from(parts), quotas)

    it('reads the column `code` or the only one, reports invalid lines, and makes a draft ready', async () => {
      const id = await create()
      expect((await poolOf(id)).status).toBe('draft')
      const csv =
        '\uFEFFname,Code\r\nx,summer-1\r\nx,"SUMMER-2"\r\nx,SUMMER 1\r\nx,\r\nx,ä\r\n\r\nx,wi"n\r\nx,SUMMER3\r\n'
      const result = await importText(id, csv.slice(0, 20), csv.slice(20))
      expect(result).toMatchObject({ imported: 3, duplicates: 1, invalid: 3 })
      expect(result.errors).toEqual([
        { line: 4, code: 'SUMMER 1', reason: 'is a duplicate' },
        { line: 5, code: '', reason: expect.stringContaining('3 to 64') },
        { line: 6, code: 'ä', reason: expect.stringContaining('3 to 64') },
        { line: 8, code: 'wi"n', reason: 'is not 3 to 64 letters A to Z, digits, _ and ., and dashes' },
      ])
      expect(await poolOf(id)).toMatchObject({ status: 'ready', size: 3, generated: 3 })
      const again = await importText(id, 'SUMMER-1\nSUMMER-4\n')
      expect(again).toMatchObject({ imported: 1, duplicates: 1, invalid: 0 })
      const lines = (await read(exportCodes(db.pool, { id, prefix: '' }))).join('').trim().split('\n')
      expect(lines.map((line) => line.split(',')[0]).sort()).toEqual(
        ['code', 'SUMMER-1', 'SUMMER-2', 'SUMMER-4', 'SUMMER3'].sort(),
      )
    })

    it.each([
      ['a name with a space', 'Coupon code\r\nSUMMER-1\r\nSUMMER-2\r\n'],
      ['tabs', 'Voucher\tValue\nSUMMER-1\t10\nSUMMER-2\t10\n'],
      ['UTF-16', Buffer.from('\uFEFFName;Code\r\n\u00fc;SUMMER-1\r\n\u00fc;SUMMER-2\r\n', 'utf16le')],
      ['UTF-16 BE', Buffer.from('\uFEFFName;Code\n\u00fc;SUMMER-1\n\u00fc;SUMMER-2\n', 'utf16le').swap16()],
      ['the line of Excel', 'sep=;\nName;Code\nx;SUMMER-1\nx;SUMMER-2\n'],
      ['pasted characters', 'code\n\u200bSUMMER\u22121\nSUMMER\u00ad-2\ufeff\n'],
    ])('reads the codes of a table with %s', async (_what, csv) => {
      const id = await create()
      const bytes = Buffer.from(csv)
      const parts = Readable.from([bytes.subarray(0, 7), bytes.subarray(7)])
      const result = await importCodes(db, { id, projectId }, parts, quotas)
      expect(result).toMatchObject({ imported: 2, invalid: 0, errors: [] })
      const lines = (await read(exportCodes(db.pool, { id, prefix: '' }))).join('').split('\n')
      expect(lines.slice(1, 3).map((line) => line.split(',')[0])).toEqual(['SUMMER-1', 'SUMMER-2'])
    })

    it('refuses a table when it is not clear which column has the codes', async () => {
      const id = await create()
      await expect(importText(id, 'Kupon,Rabatt\nABC-1,10\n')).rejects.toThrow(
        /has 2 columns, separated by commas, and its first line names none of them/,
      )
      expect(await poolOf(id)).toMatchObject({ status: 'draft', generated: 0 })
    })

    it.each([
      ['quotes within it', 'a"'.repeat(2_000), '3 to 64'],
      ['a quote that never ends', `"${'a,'.repeat(40_000)}`, 'is not CSV'],
    ])('refuses a line with %s once', async (_what, line, reason) => {
      const { imported, invalid, errors } = await importText(await create(), `SUMMER-1\n${line}`)
      expect({ imported, invalid }).toEqual({ imported: 1, invalid: 1 })
      expect(errors).toEqual([{ line: 2, code: expect.any(String), reason: expect.stringContaining(reason) }])
    })

    it('stores codes while it reads a large file, and exports them', async () => {
      const id = await create()
      const count = extent(40_000, 100_000)
      const filling = 'x'.repeat(300)
      let mostUnstored = 0
      async function* csv() {
        yield 'code,note\n'
        for (let made = 0; made < count; made += 1_000) {
          mostUnstored = Math.max(mostUnstored, made - (await poolOf(id)).generated)
          yield draw(1_000)
            .map((code) => `${code},${filling}\n`)
            .join('')
        }
      }
      const result = await importCodes(db, { id, projectId }, Readable.from(csv()), quotas)
      expect(result).toEqual({ imported: count, duplicates: 0, invalid: 0, errors: [] })
      expect(mostUnstored).toBeLessThanOrEqual(15_000)
      const parts = await read(exportCodes(db.pool, { id, prefix: '' }))
      expect(parts.join('').split('\n')).toHaveLength(count + 2)
      expect(Math.max(...parts.map((part) => part.length))).toBeLessThan(1024 * 1024)
    })

    it('lists at most a thousand invalid lines, and counts all', async () => {
      const id = await create()
      const result = await importText(id, 'AB\n'.repeat(1_001))
      expect(result.invalid).toBe(1_001)
      expect(result.errors).toHaveLength(1_000)
    })

    it('keeps the codes before an interruption, and a repeat continues', async () => {
      const id = await create()
      const codes = draw(6_000)
      async function* broken() {
        yield codes.map((code) => `${code}\n`).join('')
        await eventually('a chunk is stored', async () => (await poolOf(id)).generated === 5_000)
        throw new Error('connection lost')
      }
      await expect(importCodes(db, { id, projectId }, Readable.from(broken()), quotas)).rejects.toThrow(
        'connection lost',
      )
      expect(await poolOf(id)).toMatchObject({ status: 'draft', generated: 5_000 })
      const result = await importText(id, codes.join('\n'))
      expect(result).toMatchObject({ imported: 1_000, duplicates: 5_000 })
      expect(await poolOf(id)).toMatchObject({ status: 'ready', size: 6_000 })
    })
  })

  describe('a list', () => {
    const listAll = async (query: Partial<Parameters<typeof listCoupons>[2]>) => {
      const found: string[] = []
      for (let cursor: string | undefined; ; ) {
        const page = await listCoupons(db.pool, projectId, { limit: 7, ...query, ...(cursor && { cursor }) })
        found.push(...page.data.map(({ id }) => id))
        if (page.nextCursor === null) return found
        cursor = page.nextCursor
      }
    }

    it('contains every coupon once, newest first, by pool, status and prefix of the code', async () => {
      const [one, two] = [await create(), await create({ prefix: 'WIN' })]
      const first = await fill(one, draw(20))
      const second = await fill(
        two,
        draw(15).map((code) => `WIN${code}`),
      )
      await revokeCoupons(db, projectId, { ids: first.slice(0, 9).map(({ id }) => id) })
      const newest = (coupons: { id: string }[]) =>
        coupons
          .map(({ id }) => id)
          .sort()
          .reverse()
      expect(await listAll({})).toEqual(newest([...first, ...second]))
      expect(await listAll({ poolId: one })).toEqual(newest(first))
      expect(await listAll({ status: 'revoked' })).toEqual(newest(first.slice(0, 9)))
      expect(await listAll({ poolId: one, status: 'available' })).toEqual(newest(first.slice(9)))
      const byCode = [...second].sort((a, b) => (a.code < b.code ? -1 : 1))
      expect(await listAll({ q: 'win-' })).toEqual(byCode.map(({ id }) => id))
      expect(await listAll({ q: byCode[3]?.code.toLowerCase() ?? '' })).toEqual([byCode[3]?.id])
      expect(await listAll({ q: 'win', poolId: one })).toEqual([])
      expect(await listAll({ q: '%' })).toEqual([])
      const foreign = await listCoupons(db.pool, uuidv7(), { limit: 7, poolId: one })
      expect(foreign.data).toEqual([])
    })
  })

  it('revokes a whole pool, except redeemed coupons and those of other projects', async () => {
    const id = await create()
    const coupons = await fill(id, draw(12_000))
    await db.prisma.coupon.update({ where: { id: coupons[0]?.id ?? '' }, data: { status: 'redeemed' } })
    expect(await revokeCoupons(db, uuidv7(), { poolId: id })).toBe(0)
    expect(await revokeCoupons(db, projectId, { poolId: id, q: coupons[1]?.code ?? '' })).toBe(1)
    expect(await revokeCoupons(db, projectId, { poolId: id })).toBe(11_998)
    expect(await revokeCoupons(db, projectId, { poolId: id })).toBe(0)
    await expect(revokeCoupons(db, projectId, {})).rejects.toMatchObject({ code: 'unprocessable' })
  })

  it('allows a code once per project, over all pools', async () => {
    await create({ kind: 'shared', code: 'Wel-come' })
    await expect(create({ kind: 'shared', code: 'WELCOME' })).rejects.toMatchObject({
      details: { errors: [{ field: 'code', rule: 'unique' }] },
    })
    expect(await db.prisma.couponPool.count({ where: { projectId } })).toBe(1)
  })

  describe('rolling back', () => {
    const redeemed = async (profileId: string | null) => {
      const poolId = await create()
      const [coupon] = await fill(poolId, draw(1))
      if (!coupon) throw new Error('no coupon')
      await db.prisma.coupon.update({
        where: { id: coupon.id },
        data: { status: 'redeemed', redeemedAt: new Date() },
      })
      await db.prisma.couponPoolCount.update({ where: { poolId }, data: { redeemed: 3 } })
      if (profileId !== null)
        await db.prisma.couponProfileCount.create({ data: { poolId, profileId, redeemed: 2 } })
      const id = uuidv7()
      await db.prisma.couponRedemption.create({
        data: {
          id,
          projectId,
          poolId,
          couponId: coupon.id,
          profileId,
          amount: 4990n,
          currency: 'EUR',
          eventId: 'e',
          metadata: {},
          redeemedAt: new Date(),
        },
      })
      return { id, poolId, couponId: coupon.id }
    }
    const rollBack = (id: string, project = projectId) =>
      rollBackRedemption(db, { projectId: project, id, reason: 'returned', at: new Date() })

    it('restores coupon and counts once for concurrent requests, and publishes it once', async () => {
      const profileId = uuidv7()
      const { id, poolId, couponId } = await redeemed(profileId)
      expect(await rollBack(id, uuidv7())).toBe(false)
      const done = await Promise.all(Array.from({ length: 20 }, () => rollBack(id)))
      expect(done.filter(Boolean)).toHaveLength(1)
      expect(await db.prisma.coupon.findUnique({ where: { id: couponId } })).toMatchObject({
        status: 'available',
        redeemedAt: null,
        heldUntil: null,
      })
      expect((await poolOf(poolId)).count?.redeemed).toBe(2)
      const counted = await db.prisma.couponProfileCount.findMany({ where: { poolId } })
      expect(counted).toEqual([{ poolId, profileId, redeemed: 1, held: 0 }])
      const { rows } = await db.pool.query<{ value: string }>(
        `SELECT value FROM ingest.outbox WHERE topic = 'coupons.redeemed.v1' AND value LIKE $1`,
        [`%${id}%`],
      )
      expect(rows.map(({ value }) => JSON.parse(value))).toMatchObject([
        { kind: 'rolled_back', amount: 4990 },
      ])
    })

    describe('of a cart', () => {
      const items = [
        { sku: 'shirt', quantity: 3, unitAmount: 2000, discountAmount: 100 },
        { sku: 'mug', quantity: 1, unitAmount: 900, discountAmount: 15 },
      ]
      /** A redemption that granted 115, all of it charged to a budget of which 500 are used. */
      const granted = async (charged = true) => {
        const made = await redeemed(null)
        await db.prisma.couponRedemption.update({
          where: { id: made.id },
          data: {
            discountAmount: 115n,
            shippingDiscountAmount: 0n,
            items,
            budgetCharge: charged ? 115n : null,
          },
        })
        await db.prisma.couponPoolCount.update({ where: { poolId: made.poolId }, data: { granted: 500n } })
        return made
      }
      const part = (id: string, of: Parameters<typeof rollBackPart>[2]) =>
        rollBackPart(db, { projectId, id, reason: 'returned', at: new Date() }, of)
      const stateOf = async ({ id, poolId }: { id: string; poolId: string }) => {
        const { rolledBackAmount, rolledBackAt } = await db.prisma.couponRedemption.findUniqueOrThrow({
          where: { id },
        })
        const count = (await poolOf(poolId)).count
        return {
          used: Number(count?.granted),
          redeemed: count?.redeemed,
          amount: Number(rolledBackAmount),
          isWhole: rolledBackAt !== null,
        }
      }
      const recordsOf = async (id: string) => {
        const { rows } = await db.pool.query<{ value: string }>(
          `SELECT value FROM ingest.outbox WHERE topic = 'coupons.redeemed.v1' AND value LIKE $1 ORDER BY id`,
          [`%${id}%`],
        )
        return rows.map(({ value }) => JSON.parse(value))
      }

      it('returns the whole discount to the budget', async () => {
        const made = await granted()
        await rollBack(made.id)
        expect(await stateOf(made)).toEqual({ used: 385, redeemed: 2, amount: 115, isWhole: true })
        await rollBack(made.id)
        expect(await stateOf(made)).toEqual({ used: 385, redeemed: 2, amount: 115, isWhole: true })
        expect(await recordsOf(made.id)).toMatchObject([
          { kind: 'rolled_back', discountAmount: 115, rolledBackAmount: 115 },
        ])
      })

      it('is possible for an automatic promotion, which has no coupon', async () => {
        const made = await granted()
        const poolId = await create({ kind: 'automatic' })
        await db.prisma.couponPoolCount.update({ where: { poolId }, data: { redeemed: 1, granted: 500n } })
        await db.prisma.couponRedemption.update({
          where: { id: made.id },
          data: { poolId, couponId: poolId },
        })
        const promotion = { id: made.id, poolId }
        await part(made.id, { amount: 15 })
        await rollBack(made.id)
        expect(await stateOf(promotion)).toEqual({ used: 385, redeemed: 0, amount: 115, isWhole: true })
        expect(await recordsOf(made.id)).toMatchObject([
          { kind: 'partially_rolled_back', code: null, couponId: poolId },
          { kind: 'rolled_back', code: null, couponId: poolId },
        ])
      })

      it('returns a part by amount or items, once for repeated requests, and then the rest', async () => {
        const made = await granted()
        await Promise.all(
          Array.from({ length: 10 }, () => part(made.id, { items: [{ sku: 'shirt', quantity: 1 }] })),
        )
        expect(await stateOf(made)).toEqual({ used: 467, redeemed: 3, amount: 33, isWhole: false })
        await part(made.id, { amount: 50 })
        expect(await stateOf(made)).toEqual({ used: 450, redeemed: 3, amount: 50, isWhole: false })
        await part(made.id, {
          items: [
            { sku: 'shirt', quantity: 3 },
            { sku: 'mug', quantity: 0 },
          ],
        })
        expect(await stateOf(made)).toEqual({ used: 400, redeemed: 3, amount: 100, isWhole: false })
        expect(await recordsOf(made.id)).toMatchObject([
          { kind: 'partially_rolled_back', rolledBackAmount: 33 },
          { kind: 'partially_rolled_back', rolledBackAmount: 50 },
          { kind: 'partially_rolled_back', rolledBackAmount: 100 },
        ])
        const { status } = await db.prisma.coupon.findUniqueOrThrow({ where: { id: made.couponId } })
        expect(status).toBe('redeemed')
        await rollBack(made.id)
        expect(await stateOf(made)).toEqual({ used: 385, redeemed: 2, amount: 115, isWhole: true })
      })

      it('returns nothing to a budget that came later', async () => {
        const made = await granted(false)
        await part(made.id, { amount: 115 })
        await rollBack(made.id)
        expect(await stateOf(made)).toEqual({ used: 500, redeemed: 2, amount: 115, isWhole: true })
      })

      it.each<[string, Parameters<typeof rollBackPart>[2], string]>([
        ['more than the discount', { amount: 116 }, 'amount'],
        ['less than before', { amount: 9 }, 'amount'],
        ['more units than were bought', { items: [{ sku: 'mug', quantity: 2 }] }, 'items.0.quantity'],
        ['an item that was not bought', { items: [{ sku: 'hat', quantity: 1 }] }, 'items.0.quantity'],
        [
          'an item twice',
          {
            items: [
              { sku: 'mug', quantity: 1 },
              { sku: 'mug', quantity: 1 },
            ],
          },
          'items.1.sku',
        ],
      ])('refuses %s', async (_what, of, field) => {
        const made = await granted()
        await part(made.id, { amount: 10 })
        await expect(part(made.id, of)).rejects.toMatchObject({ details: { errors: [{ field }] } })
        expect(await stateOf(made)).toMatchObject({ used: 490, amount: 10 })
      })

      it('refuses a part of what was rolled back, and items that are not stored', async () => {
        const made = await granted()
        await rollBack(made.id)
        await expect(part(made.id, { amount: 1 })).rejects.toMatchObject({
          details: { errors: [{ field: 'amount' }] },
        })
        const plain = await redeemed(null)
        await expect(part(plain.id, { amount: 1 })).rejects.toMatchObject({
          details: { errors: [{ field: 'amount', rule: 'maximum' }] },
        })
        await expect(part(plain.id, { items: [{ sku: 'mug', quantity: 1 }] })).rejects.toMatchObject({
          details: { errors: [{ field: 'items' }] },
        })
      })
    })

    it('returns an assigned coupon to its owner, and keeps a revoked one revoked', async () => {
      const assigned = await redeemed(null)
      await db.prisma.coupon.update({
        where: { id: assigned.couponId },
        data: { assignedProfileId: uuidv7(), assignedAt: new Date() },
      })
      await rollBack(assigned.id)
      const revoked = await redeemed(null)
      await db.prisma.coupon.update({ where: { id: revoked.couponId }, data: { status: 'revoked' } })
      await rollBack(revoked.id)
      const statusOf = async (id: string) =>
        (await db.prisma.coupon.findUniqueOrThrow({ where: { id } })).status
      expect([await statusOf(assigned.couponId), await statusOf(revoked.couponId)]).toEqual([
        'assigned',
        'revoked',
      ])
    })

    it('does not reassign the coupon of an erased person', async () => {
      const { id, poolId, couponId } = await redeemed(null)
      // The state after an erasure.
      await db.prisma.coupon.update({
        where: { id: couponId },
        data: { assignedProfileId: null, assignedAt: new Date() },
      })
      await db.prisma.couponPool.update({ where: { id: poolId }, data: { status: 'ready' } })
      expect(await rollBack(id)).toBe(true)
      const profileId = uuidv7()
      await db.prisma.profile.create({ data: { id: profileId, projectId, bucketingId: 'v', traits: {} } })
      expect(await createAssignCoupon(db)(projectId, poolId, profileId)).toEqual({ reason: 'exhausted' })
    })
  })
})
