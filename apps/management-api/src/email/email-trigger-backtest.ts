import {
  BACKTEST_SAMPLE,
  backtestEmailTrigger,
  MAX_BACKTEST_EVENTS,
  type TriggerBacktest,
} from '@waymark/contracts/http/backtests'
import {
  addressOf,
  type CompiledTrigger,
  comparableAddress,
  compileTrigger,
  type Firing,
  isFiredBy,
  replayDeliveries,
} from '@waymark/domain/email'
import type { StoredEvent } from '@waymark/event-store'
import { LoopTurns, type Route } from '@waymark/service-kit'
import type { QueryStore } from '../analytics/run-queries.ts'
import { timeText } from '../analytics/time-range.ts'
import { ALWAYS_UNKNOWN, DAY_MS, MAX_STEPS, newerTraits, type UnknownNote } from '../backtests/people.ts'
import { readAddressees } from '../backtests/people-queries.ts'
import { requireFound, requireId, requireUsableFilter } from '../http/validation.ts'
import type { ManagementDeps } from '../management-deps.ts'

const HOUR_MS = 60 * 60 * 1_000
/** Events that one statement reads. They may be large. */
const PORTION = 2_000
/** People and addresses that one statement looks up. */
const PEOPLE_AT_ONCE = 1_000

/** Replays an email trigger, or a change of it, on stored events. It stores and sends nothing. */
export const emailTriggerBacktestRoute = ({ projectRoute, db, runQuery, clock }: ManagementDeps): Route =>
  projectRoute(backtestEmailTrigger, async ({ projectId, id, body, request }) => {
    const found = requireFound(
      await db.prisma.emailTrigger.findFirst({ where: { id: requireId(id), projectId } }),
    )
    const {
      eventName = found.eventName,
      filter = found.filter,
      cooldownSeconds = found.cooldownSeconds,
    } = body
    if (filter !== null) requireUsableFilter(filter)
    const activatedAt = timeText(0)
    const trigger = compileTrigger({ id, eventName, filter, cooldownSeconds, activatedAt })
    const to = clock()
    const from = to - body.days * DAY_MS
    const period = { projectId, from, to }
    const replayed = await runQuery({ ...period, request }, async (queryStore, stop) => {
      const read = await readFirings(queryStore, period, trigger, stop)
      return { read, ...(await addressFirings(db, projectId, read.fired, stop)) }
    })
    const { read, firings, newer } = replayed
    return {
      body: {
        triggerId: id,
        from: timeText(read.sampled ? (read.earliest ?? from) : from),
        to: timeText(to),
        events: read.events,
        sampled: read.sampled,
        ...tallyOf(firings, cooldownSeconds),
        unknown: [...newerTraits(newer), ...NOTES],
      } satisfies TriggerBacktest,
    }
  })

type Fired = { at: number; profileId: string | null }

/** The events that fire a trigger, in the order of receipt, among the last ones of a period. */
const readFirings = async (
  queryStore: QueryStore,
  { projectId, from, to }: { projectId: string; from: number; to: number },
  trigger: CompiledTrigger,
  stop: AbortSignal,
) => {
  const { eventName } = trigger.trigger
  const turns = new LoopTurns()
  const fired: Fired[] = []
  let events = 0
  let steps = 0
  let earliest: number | undefined
  const isFull = () => events >= MAX_BACKTEST_EVENTS || steps > MAX_STEPS
  const query = {
    projectId,
    eventName,
    receivedFrom: from,
    below: { receivedAt: to },
    firstRangeMs: to - from,
    portion: () => Math.max(1, Math.min(PORTION, MAX_BACKTEST_EVENTS - events)),
  }
  const sampled = await queryStore(async (store) => {
    for await (const portion of store.readEvents(query)) {
      for (const event of portion.events) {
        if (isFull()) return true
        if (turns.isOver()) await turns.next()
        stop.throwIfAborted()
        const { fires, steps: taken } = isFiredBy(enriched(projectId, event), trigger)
        const at = Date.parse(event.receivedAt)
        events += 1
        steps += taken
        earliest = at
        if (fires) fired.push({ at, profileId: event.profileId })
      }
      if (isFull()) return portion.next !== undefined
    }
    return false
  })
  return { fired: fired.reverse(), events, sampled, earliest }
}

/** A stored event as the consumer of live events gets it, without its conversions. */
const enriched = (projectId: string, { eventKey: _, ...event }: StoredEvent) => ({
  v: 1 as const,
  ...event,
  projectId,
  backfill: false,
  conversions: [],
})

/** Where the emails of firings go, and the number of people whose address was written after the first of theirs. */
const addressFirings = async (
  { pool, prisma }: ManagementDeps['db'],
  projectId: string,
  fired: readonly Fired[],
  stop: AbortSignal,
): Promise<{ firings: Firing[]; newer: number }> => {
  const firings: Firing[] = []
  const newer = new Set<string>()
  for (let done = 0; done < fired.length; done += PEOPLE_AT_ONCE) {
    stop.throwIfAborted()
    const portion = fired.slice(done, done + PEOPLE_AT_ONCE)
    const people = await readAddressees(pool, projectId, [
      ...new Set(portion.flatMap(({ profileId }) => profileId ?? [])),
    ])
    const addressed = portion.map(({ at, profileId }) => {
      const person = people.get(profileId ?? '')
      if (person && person.writtenAt !== null && Date.parse(person.writtenAt) > at)
        newer.add(person.profileId)
      const { recipient } = addressOf(person && { email: person.email })
      return { at, profileId: person?.profileId ?? null, recipient }
    })
    const addresses = addressed.flatMap(({ recipient }) => (recipient ? comparableAddress(recipient) : []))
    const rows = await prisma.emailSuppression.findMany({
      where: { projectId, address: { in: [...new Set(addresses)] } },
      select: { address: true },
    })
    const suppressed = new Set(rows.map(({ address }) => address))
    for (const one of addressed)
      firings.push({
        ...one,
        isSuppressed: one.recipient !== null && suppressed.has(comparableAddress(one.recipient)),
      })
  }
  return { firings, newer: newer.size }
}

const tallyOf = (firings: readonly Firing[], cooldownSeconds: number) => {
  const statuses = replayDeliveries(firings, { cooldownSeconds })
  const sent = firings.filter((_, index) => statuses[index] === 'pending')
  const numberOf = (status: (typeof statuses)[number]) => statuses.filter((one) => one === status).length
  const people = [...new Set(sent.flatMap(({ profileId }) => profileId ?? []))]
  const hours = [...Map.groupBy(sent, ({ at }) => Math.floor(at / HOUR_MS))]
  const [busiest] = hours.sort(([a, one], [b, other]) => other.length - one.length || a - b)
  return {
    fired: firings.length,
    emails: sent.length,
    noEmail: numberOf('skipped_no_email'),
    suppressed: numberOf('suppressed'),
    cooldown: numberOf('cooldown'),
    people: people.length,
    busiestHour: busiest ? { at: timeText(busiest[0] * HOUR_MS), emails: busiest[1].length } : null,
    sample: people.slice(0, BACKTEST_SAMPLE),
  }
}

const NOTES: UnknownNote[] = [
  {
    code: 'suppressions',
    message: 'The suppression list is as it is now. Emails before the period begin no cooldown.',
  },
  {
    code: 'imports',
    message:
      'Imported events are not told apart: they fire nothing when they arrive. Filters on conversions of the event do not match.',
  },
  ALWAYS_UNKNOWN,
]
