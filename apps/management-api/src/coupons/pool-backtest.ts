import { currencyOf } from '@waymark/contracts/currency'
import {
  BACKTEST_SAMPLE,
  backtestCouponPool,
  MAX_BACKTEST_EVENTS,
  type PoolBacktest,
  type PoolBacktestRequest,
} from '@waymark/contracts/http/backtests'
import { CartItems } from '@waymark/contracts/http/cart'
import { compileValidator } from '@waymark/contracts/validator'
import {
  type Cart,
  type CartPool,
  discountCart,
  isCountable,
  type PastCart,
  replayCarts,
} from '@waymark/domain/coupon'
import {
  compileSegment,
  createSegmentLookup,
  createSegmentSet,
  type SegmentSet,
  segmentsIn,
} from '@waymark/domain/decision'
import type { EventQueries, StoredEvent } from '@waymark/event-store'
import { LoopTurns, type Route } from '@waymark/service-kit'
import type { Pool } from 'pg'
import { timeText } from '../analytics/time-range.ts'
import { ALWAYS_UNKNOWN, DAY_MS, type UnknownNote } from '../backtests/people.ts'
import { type PastShopper, readPastShoppers } from '../backtests/shopper-queries.ts'
import { requireFound, requireId, unprocessable } from '../http/validation.ts'
import type { ManagementDeps } from '../management-deps.ts'
import { readSegments } from '../segments/segment-rows.ts'
import { termsOfPool } from './coupon-pool-values.ts'
import { storedTerms } from './coupon-terms.ts'

/** Events that one statement reads. */
const PORTION = 2_000
/** Events whose people are read at a time, which bounds the memory that their traits take. */
const PEOPLE_AT_ONCE = 200
const itemsValidator = compileValidator(CartItems)

/** Replays a coupon pool, or a change of it, on the carts of stored events. It redeems nothing. */
export const poolBacktestRoute = ({ projectRoute, db, runQuery, clock }: ManagementDeps): Route =>
  projectRoute(backtestCouponPool, async ({ projectId, id, body, request }) => {
    const stored = requireFound(
      await db.prisma.couponPool.findFirst({ where: { id: requireId(id), projectId } }),
    )
    if (stored.kind === 'balance')
      throw unprocessable('id', 'kind', 'is a pool of gift cards, which grant no discount')
    const current = termsOfPool(stored)
    const { discount, rules, budgetAmount } = storedTerms({
      discount: body.discount ?? current.discount,
      rules: body.rules === undefined ? current.rules : body.rules,
      budgetAmount: body.budgetAmount === undefined ? current.budgetAmount : body.budgetAmount,
    })
    const keys = [...new Set(segmentsIn(rules?.condition))]
    const segments = createSegmentSet(await readSegments(db.prisma, projectId, keys), compileSegment)
    const unknownKey = keys.find((key) => segments.get(key) === undefined)
    if (unknownKey !== undefined)
      throw unprocessable(
        'rules.condition',
        'segment',
        `refers to the segment ${unknownKey}, which does not exist`,
      )

    const to = clock()
    const period = { projectId, from: to - body.days * DAY_MS, to }
    const { stackable, priority } = stored
    const pool = { id, discount, rules, stackable, priority, budget: null }
    const { carts, ...read } = await runQuery({ ...period, request }, (queryStore, stop) =>
      queryStore((store) => readCarts({ pool: db.pool, store, stop }, period, { pool, segments, body })),
    )
    const limits = {
      budget: budgetAmount,
      perProfileLimit: body.perProfileLimit === undefined ? stored.perProfileLimit : body.perProfileLimit,
      maxRedemptions: body.maxRedemptions === undefined ? stored.maxRedemptions : body.maxRedemptions,
    }
    return {
      body: {
        poolId: id,
        from: timeText(read.sampled ? read.earliest : period.from),
        to: timeText(to),
        events: read.events,
        sampled: read.sampled,
        unreadable: read.unreadable,
        ...tallyOf(carts, limits),
        unknown: notesOf(isAboutPerson(rules), keys),
      } satisfies PoolBacktest,
    }
  })

type Reading = { pool: Pool; store: EventQueries; stop: AbortSignal }
type Replayed = { pool: CartPool; segments: SegmentSet; body: PoolBacktestRequest }
type CartOfCurrency = PastCart & { currency: string }

const isAboutPerson = (rules: CartPool['rules']): boolean =>
  rules?.firstOrderOnly === true || (rules?.condition ?? null) !== null

/** The carts of the last events of a period in the order of receipt, with what a pool grants for each. */
const readCarts = async (
  { pool: db, store, stop }: Reading,
  { projectId, from, to }: { projectId: string; from: number; to: number },
  { pool, segments, body }: Replayed,
) => {
  const turns = new LoopTurns()
  const wanted = { needsPerson: isAboutPerson(pool.rules), events: segments.events }
  const carts: CartOfCurrency[] = []
  const read = { events: 0, unreadable: 0, earliest: from, sampled: false }
  const query = {
    projectId,
    eventName: body.eventName,
    receivedFrom: from,
    below: { receivedAt: to },
    firstRangeMs: to - from,
    portion: () => Math.max(1, Math.min(PORTION, MAX_BACKTEST_EVENTS - read.events)),
  }
  const readPortion = async (events: readonly StoredEvent[]): Promise<void> => {
    const ids = [...new Set(events.flatMap(({ profileId }) => profileId ?? []))]
    const people = await readPastShoppers(db, projectId, ids, wanted)
    for (const event of events) {
      if (turns.isOver()) await turns.next()
      stop.throwIfAborted()
      read.events += 1
      read.earliest = Date.parse(event.receivedAt)
      const cart = cartOf(event, body)
      if (!cart) {
        read.unreadable += 1
        continue
      }
      const person = people.get(event.profileId ?? '')
      const shopper = person && shopperAt(person, Date.parse(event.timestamp), segments)
      const [outcome] = discountCart(cart, [{ code: '', pool }], shopper)
      if (outcome) carts.push({ profileId: person?.profileId ?? null, outcome, currency: cart.currency })
    }
  }
  for await (const { events, next } of store.readEvents(query)) {
    for (let done = 0; done < events.length; done += PEOPLE_AT_ONCE)
      await readPortion(events.slice(done, done + PEOPLE_AT_ONCE))
    read.sampled = read.events >= MAX_BACKTEST_EVENTS && next !== undefined
    if (read.sampled) break
  }
  return { ...read, carts: carts.reverse() }
}

/** The cart of an event; undefined when its properties hold none. */
const cartOf = (
  { properties }: StoredEvent,
  {
    itemsProperty = 'items',
    currencyProperty = 'currency',
    shippingProperty = 'shippingAmount',
  }: PoolBacktestRequest,
): Cart | undefined => {
  const listed = own(properties, itemsProperty)
  const currency = own(properties, currencyProperty)
  const code = typeof currency === 'string' ? currencyOf(currency) : undefined
  const shippingAmount = own(properties, shippingProperty) ?? 0
  if (!Array.isArray(listed) || code === undefined || !isAmount(shippingAmount)) return undefined
  // Items of events may say more than a cart does.
  const items: unknown = listed.map((item) =>
    Object.fromEntries(
      ITEM_FIELDS.flatMap((name) => (own(item, name) === undefined ? [] : [[name, own(item, name)]])),
    ),
  )
  if (!itemsValidator.fits(items)) return undefined
  const cart = { currency: code, items, shippingAmount }
  return isCountable(cart) ? cart : undefined
}

const ITEM_FIELDS = ['sku', 'category', 'quantity', 'unitAmount']

const isAmount = (value: unknown): value is number => Number.isSafeInteger(value) && Number(value) >= 0

const own = (value: unknown, name: string): unknown =>
  typeof value === 'object' && value !== null && Object.hasOwn(value, name)
    ? (Reflect.get(value, name) ?? undefined)
    : undefined

/** A person at a time, in ms: whether they had ordered, and their segments by the counts of the days until then. */
const shopperAt = ({ traits, firstOrderAt, days }: PastShopper, at: number, segments: SegmentSet) => {
  const today = timeText(at).slice(0, 10)
  return {
    traits,
    hasOrdered: firstOrderAt !== null && firstOrderAt.getTime() < at,
    segments: createSegmentLookup(segments, {
      traits,
      days: days.filter(({ day }) => day <= today),
      now: at,
    }),
  }
}

const tallyOf = (carts: readonly CartOfCurrency[], limits: Parameters<typeof replayCarts>[1]) => {
  const replayed = replayCarts(carts, limits)
  const granted = carts.flatMap((cart, index) => {
    const one = replayed[index]
    return one && 'discountAmount' in one ? [{ ...cart, discountAmount: one.discountAmount }] : []
  })
  const refused = Map.groupBy(
    replayed.flatMap((one) => ('refusal' in one ? one.refusal : [])),
    (reason) => reason,
  )
  const people = [...new Set(granted.flatMap(({ profileId }) => profileId ?? []))]
  return {
    granted: granted.length,
    people: people.length,
    discounts: [...Map.groupBy(granted, ({ currency }) => currency)].map(([currency, of]) => ({
      currency,
      discountAmount: of.reduce((sum, one) => sum + one.discountAmount, 0),
    })),
    refusals: [...refused].map(([reason, of]) => ({ reason, carts: of.length })),
    sample: people.slice(0, BACKTEST_SAMPLE),
  }
}

const notesOf = (needsPerson: boolean, segmentKeys: readonly string[]): UnknownNote[] => {
  const notes: (UnknownNote | false)[] = [
    {
      code: 'carts',
      message:
        'Every cart would have got a coupon of the pool, and no other discount. Limits and budget begin with the period; its times and the number of its codes are not looked at.',
    },
    needsPerson && {
      code: 'traits',
      message: 'Traits are as of now. What they were before is not kept.',
    },
    segmentKeys.length > 0 && {
      code: 'references',
      message: `These are as they are now: ${segmentKeys.map((key) => `segment ${key}`).join(', ')}. They count whole days.`,
    },
    ALWAYS_UNKNOWN,
  ]
  return notes.filter((note) => note !== false)
}
