import { randomBytes } from 'node:crypto'
import type { Log } from '@waymark/contracts/log'
import type { IpStorage } from '@waymark/contracts/project-settings'
import type { LinkClick } from '@waymark/contracts/records/change-records'
import { linkClicks } from '@waymark/contracts/topics'
import { storableIp, type UserAgent, urlHostOf } from '@waymark/domain/enrichment'
import { createBatcher, type IngestQueue, traceHeaders, type VisitorHash } from '@waymark/pipeline'
import { Counter, Gauge, type Registry } from 'prom-client'

/** A click as the request describes it. */
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
  /** The key of the variant that it led to. */
  variant: string | undefined
}

type ClickRecorderDeps = {
  queue: Pick<IngestQueue, 'enqueueSerialized'>
  /** Called before each batch is sent. */
  beforeHandOver: () => Promise<void>
  describeUserAgent: (header: string | null) => UserAgent
  countryOf: (ip: string) => string | null
  hashVisitor: VisitorHash['hashVisitor']
  log: Log
  metrics: Registry
  maxWaiting?: number
}

const LINGER_MS = 20
const MAX_WAITING = 100_000
const RETRY_MS = 500
const MAX_AGENT_LENGTH = 500
const MAX_REFERRER_LENGTH = 2_000

/** A click as it is published. */
type SerializedClick = { value: string; headers: { traceparent: string } | undefined }

/**
 * Records clicks without the visitor waiting, and publishes them in batches. While neither the bus nor the spool accepts
 * them they wait in memory, up to `maxWaiting` (100,000); more are dropped and counted.
 */
export const createClickRecorder = ({
  queue,
  beforeHandOver,
  describeUserAgent,
  countryOf,
  hashVisitor,
  log,
  metrics,
  maxWaiting = MAX_WAITING,
}: ClickRecorderDeps) => {
  // Clicks need no order, so the clicks of a batch go to one partition.
  let key = newKey()
  const dropped = new Counter({
    name: 'waymark_link_clicks_dropped_total',
    help: 'Clicks that were lost because neither the bus nor the spool accepted them in time',
    registers: [metrics],
  })
  new Gauge({
    name: 'waymark_link_clicks_waiting',
    help: 'Clicks in memory that are not published yet',
    registers: [metrics],
    collect() {
      this.set(batcher.waiting())
    },
  })

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
      clickedAt: new Date(at).toISOString(),
      ip: storableIp(ip, click.ipStorage),
      userAgent,
      country: ip === null ? null : countryOf(ip),
      referrer: storableReferrer(click.referrer),
      bot: describeUserAgent(userAgent).bot,
      prefetch,
      visitor: ip === null ? null : hashVisitor(at, projectId, ip, userAgent ?? ''),
    }
    if (click.variant !== undefined) value.variant = click.variant
    return JSON.stringify(value)
  }

  const send = async (clicks: readonly SerializedClick[]): Promise<void> => {
    try {
      await beforeHandOver()
      await queue.enqueueSerialized(
        linkClicks,
        clicks.map(({ value, headers }) => (headers ? { key, value, headers } : { key, value })),
      )
      key = newKey()
    } catch (error) {
      const details = { err: error, waiting: batcher.waiting() }
      log.warn(details, 'Clicks are kept in memory; neither the bus nor the spool accepts them')
      throw error
    }
  }
  const batcher = createBatcher({ send, lingerMs: LINGER_MS, retryMs: RETRY_MS, maxWaiting })

  return {
    /** Adds a click. Never fails and never waits. */
    record: (click: Click): void => {
      if (!batcher.add({ value: serialize(click), headers: traceHeaders() })) dropped.inc()
    },
    /** Publishes clicks until `signal` aborts, and then those that are left. */
    run: async (signal: AbortSignal): Promise<void> => {
      const lost = await batcher.run(signal)
      if (lost === 0) return
      dropped.inc(lost)
      log.error({ lost }, 'Clicks were lost when the process stopped')
    },
  }
}

export type ClickRecorder = ReturnType<typeof createClickRecorder>

/** Random, since the clicks of a batch belong to many projects. */
const newKey = (): string => randomBytes(12).toString('base64url')

/** Only a referrer with a host name is stored. */
const storableReferrer = (referrer: string | null): string | null =>
  urlHostOf(referrer) === null ? null : (referrer?.slice(0, MAX_REFERRER_LENGTH) ?? null)
