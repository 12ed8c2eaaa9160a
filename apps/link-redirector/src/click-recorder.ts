import { randomBytes } from 'node:crypto'
import { setTimeout as sleep } from 'node:timers/promises'
import { type IpStorage, type LinkClick, type Log, linkClicks } from '@waymark/contracts'
import { hostOf, storableIp } from '@waymark/domain'
import { type IngestQueue, rememberBots, traceHeaders } from '@waymark/pipeline'
import { Counter, Gauge, type Registry } from 'prom-client'
import type { VisitorHash } from './visitor-hash.ts'

/** A click as the request tells it. */
export type Click = {
  id: string
  projectId: string
  linkId: string
  code: string
  /** In ms since the epoch. */
  at: number
  /** The complete address. It never leaves this process unless the project keeps addresses. */
  ip: string | null
  ipStorage: IpStorage
  userAgent: string | null
  referrer: string | null
  prefetch: boolean
}

export type ClickRecorderDeps = {
  queue: Pick<IngestQueue, 'enqueueSerialized'>
  /** Waited for before clicks are handed over. */
  beforeHandOver: () => Promise<void>
  countryOf: (ip: string) => string | null
  hashVisitor: VisitorHash['hashVisitor']
  log: Log
  metrics: Registry
  maxWaiting?: number
}

const LINGER_MS = 20
const MAX_BATCH = 1_000
const MAX_WAITING = 100_000
const RETRY_MS = 500
/** How long clicks are still tried to be handed over at a stop, in ms. */
const DRAIN_MS = 10_000
const MAX_AGENT_LENGTH = 500
const MAX_REFERRER_LENGTH = 2_000

/**
 * Takes clicks without holding anybody up, and hands them to the queue in batches. When neither the bus nor the spool
 * takes them they wait in memory, as many as there is room for; those beyond are counted as dropped.
 */
export const createClickRecorder = ({
  queue,
  beforeHandOver,
  countryOf,
  hashVisitor,
  log,
  metrics,
  maxWaiting = MAX_WAITING,
}: ClickRecorderDeps) => {
  const waiting: { value: string; headers: { traceparent: string } | undefined }[] = []
  const isBot = rememberBots()
  // Clicks have no order to keep: a batch is one partition's, and a link that all follow loads each in turn.
  let key = newKey()
  let wake = (): void => {}
  let stopBy = Number.POSITIVE_INFINITY
  const dropped = new Counter({
    name: 'waymark_link_clicks_dropped_total',
    help: 'Clicks that were lost because neither the bus nor the spool took them for too long',
    registers: [metrics],
  })
  new Gauge({
    name: 'waymark_link_clicks_waiting',
    help: 'Clicks that have yet to be handed to the queue',
    registers: [metrics],
    collect() {
      this.set(waiting.length)
    },
  })

  let lastTime = { at: Number.NaN, text: '' }
  // Dozens of clicks share a millisecond under load.
  const timeOf = (at: number): string => {
    if (at !== lastTime.at) lastTime = { at, text: new Date(at).toISOString() }
    return lastTime.text
  }

  /** What is stored of a click, as JSON text. */
  const serialize = (click: Click): string => {
    const { id, projectId, linkId, code, at, ip, prefetch } = click
    const userAgent = click.userAgent?.slice(0, MAX_AGENT_LENGTH) ?? null
    const value: LinkClick = {
      v: 1,
      id,
      projectId,
      linkId,
      code,
      clickedAt: timeOf(at),
      ip: storableIp(ip, click.ipStorage),
      userAgent,
      country: ip === null ? null : countryOf(ip),
      referrer: storableReferrer(click.referrer),
      bot: isBot(userAgent),
      prefetch,
      visitor: ip === null ? null : hashVisitor(at, projectId, ip, userAgent ?? ''),
    }
    return JSON.stringify(value)
  }

  const handOver = async (): Promise<void> => {
    const batch = waiting.slice(0, MAX_BATCH)
    try {
      await beforeHandOver()
      await queue.enqueueSerialized(
        linkClicks,
        batch.map(({ value, headers }) => (headers ? { key, value, headers } : { key, value })),
      )
      waiting.splice(0, batch.length)
      key = newKey()
    } catch (error) {
      log.warn({ err: error, waiting: waiting.length }, 'clicks cannot be handed over and wait')
      await sleep(RETRY_MS)
    }
  }

  return {
    /** Takes a click. Never fails and never waits. */
    record: (click: Click): void => {
      // Text at once, while all of it is in the CPU's cache: a thousand clicks later would take longer, and hold up everybody.
      if (waiting.length >= maxWaiting) dropped.inc()
      // Behind another one, `run` is at work.
      else if (waiting.push({ value: serialize(click), headers: traceHeaders() }) === 1) wake()
    },
    /** Hands clicks over until `signal` aborts and none are left. */
    run: async (signal: AbortSignal): Promise<void> => {
      signal.addEventListener('abort', () => {
        stopBy = performance.now() + DRAIN_MS
        wake()
      })
      while (!signal.aborted || (waiting.length > 0 && performance.now() < stopBy)) {
        if (waiting.length === 0) {
          await new Promise<void>((resolve) => {
            wake = resolve
          })
        }
        if (waiting.length < MAX_BATCH && !signal.aborted) await sleep(LINGER_MS)
        if (waiting.length > 0) await handOver()
      }
      if (waiting.length > 0) {
        dropped.inc(waiting.length)
        log.error({ lost: waiting.length }, 'clicks are lost: neither the bus nor the spool took them')
      }
    },
  }
}

export type ClickRecorder = ReturnType<typeof createClickRecorder>

/** Nothing that a project could be known by, since the clicks of a batch are those of many. */
const newKey = (): string => randomBytes(12).toString('base64url')

/** What names no host is noise. */
const storableReferrer = (referrer: string | null): string | null =>
  hostOf(referrer) === null ? null : (referrer?.slice(0, MAX_REFERRER_LENGTH) ?? null)
