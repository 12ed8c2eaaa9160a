import type { EnrichedEvent } from '@waymark/contracts/records/enriched-event'
import { ingestRecords } from '@waymark/contracts/topics'
import { classifyStoreError, type Database } from '@waymark/database'
import { enrichEvent } from '@waymark/domain/enrichment'
import { createKafkaEventBus } from '@waymark/event-bus'
import { cacheUserAgents, claimEvents } from '@waymark/pipeline'
import { createLog } from '@waymark/service-kit'
import { eventually, executeOnClickHouse } from '@waymark/testing/servers'
import type { Benchmark, Contender, Figures, Size } from './benchmark.ts'
import { aPlainRecord, outgoing } from './events.ts'
import { figuresOf, startMeasured, type Usage } from './measured-process.ts'
import { startServers } from './servers.ts'

const EVENTS = 60_000
const EVENTS_QUICK = 20_000
const PUBLISHED_AT_ONCE = 500
const BATCH = 500
/** Concurrent batches of one consumer. */
const LANES = 4
const STORING_MS = 5 * 60_000

const describeUserAgent = cacheUserAgents()
const anEnrichedEvent = (projectId: string): EnrichedEvent =>
  enrichEvent(aPlainRecord(projectId), { profileId: null, shortLink: null, describeUserAgent })

/** The claims of ids alone. */
const claimRaw = ({ pool }: Database, projectId: string): Contender => ({
  run: async (seconds) => {
    const until = performance.now() + seconds * 1_000
    let stored = 0
    const lane = async (): Promise<void> => {
      const client = await pool.connect()
      try {
        while (performance.now() < until) {
          await client.query('BEGIN')
          const events = Array.from({ length: BATCH }, () => anEnrichedEvent(projectId))
          stored += (await claimEvents(client, events)).added.length
          await client.query('COMMIT')
        }
      } finally {
        client.release()
      }
    }
    const start = performance.now()
    await Promise.all(Array.from({ length: LANES }, lane))
    const perSecond = stored / ((performance.now() - start) / 1_000)
    return { perSecond, cpuMicros: null, p99Ms: null, peakRssMb: null }
  },
  stop: async () => {},
})

const CLAIMS_ON_DISK = `
  SELECT (SELECT sum(pg_total_relation_size(inhrelid)) FROM pg_inherits WHERE inhparent = 'ingest.event_ids'::regclass)
    / (SELECT count(*) FROM ingest.event_ids) AS n`
const WAL = `SELECT pg_current_wal_insert_lsn() - '0/0'::pg_lsn AS n`

const numberFrom = async ({ pool }: Database, query: string): Promise<number> =>
  Number((await pool.query<{ n: string }>(query)).rows[0]?.n)

/** Events from the topic through enrichment into both stores, compared with the INSERT statement alone. */
export const pipelineBenchmark: Benchmark = {
  name: 'pipeline',
  unit: 'events',
  goal: 0.6,
  prepare: async (options) => {
    const { env, projectId, db, brokers, dispose } = await startServers(options)
    const enrichment = await startMeasured({ entry: 'apps/enrichment-consumer/src/main.ts', env }, options)
    const persistence = await startMeasured({ entry: 'apps/persistence-consumer/src/main.ts', env }, options)
    const bus = createKafkaEventBus(
      { brokers, clientId: 'bench' },
      { log: createLog('bench', 'warn'), classifyError: classifyStoreError },
    )
    const count = options.quick ? EVENTS_QUICK : EVENTS

    const publish = async (): Promise<void> => {
      for (let sent = 0; sent < count; sent += PUBLISHED_AT_ONCE) {
        const records = Array.from({ length: PUBLISHED_AT_ONCE }, () => aPlainRecord(projectId))
        await bus.publish(ingestRecords, records.map(outgoing))
      }
    }
    const usage = async (): Promise<Usage> => {
      const used = await Promise.all([enrichment.usage(), persistence.usage()])
      return {
        cpuMicros: used.reduce((sum, { cpuMicros }) => sum + cpuMicros, 0),
        peakRssMb: Math.max(...used.map(({ peakRssMb }) => peakRssMb)),
        rssMb: Math.max(...used.map(({ rssMb }) => rssMb)),
      }
    }
    let [events, wal] = [0, 0]
    const run = async (): Promise<Figures> => {
      const since = new Date()
      const walBefore = await numberFrom(db, WAL)
      const before = await usage()
      const start = performance.now()
      await publish()
      await eventually(
        'the events are stored',
        async () => (await stored(env, projectId, since)) >= count,
        STORING_MS,
      )
      const seconds = (performance.now() - start) / 1_000
      wal += (await numberFrom(db, WAL)) - walBefore
      events += count
      return figuresOf({ count, seconds }, before, await usage())
    }
    const sizes = async (): Promise<Size[]> => [
      { name: 'PostgreSQL on disk', bytes: await numberFrom(db, CLAIMS_ON_DISK), atMost: 200 },
      { name: 'WAL', bytes: wal / events, atMost: 400 },
      { name: 'event store on disk', bytes: await bytesInStore(env), atMost: 160 },
    ]
    const stop = async (): Promise<void> => {
      await bus.close()
      await Promise.all([enrichment.stop(), persistence.stop()])
    }
    return { ours: { run, stop }, baseline: claimRaw(db, projectId), sizes, dispose }
  },
}

const bytesInStore = async (env: Record<string, string>): Promise<number> =>
  Number(
    await executeOnClickHouse(
      env.CLICKHOUSE_URL ?? '',
      `SELECT sum(bytes_on_disk) / sum(rows) FROM system.parts
       WHERE active AND table = 'events' AND database = '${env.CLICKHOUSE_DATABASE}'`,
    ),
  )

/** The events that the column store has since a time. Their ids were claimed before. */
const stored = async (env: Record<string, string>, projectId: string, since: Date): Promise<number> =>
  Number(
    await executeOnClickHouse(
      env.CLICKHOUSE_URL ?? '',
      `SELECT count() FROM ${env.CLICKHOUSE_DATABASE}.events FINAL WHERE project_id = '${projectId}'
         AND event_name = 'page_view' AND received_at >= fromUnixTimestamp64Milli(${since.getTime()})`,
    ),
  )
