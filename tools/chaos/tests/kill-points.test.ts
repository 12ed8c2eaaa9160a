import { eventually, extent, services } from '@waymark/testing'
import pg from 'pg'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { expectStoredOnce } from './audit.ts'
import { createFleet, type Fleet } from './fleet.ts'
import { type InsertWatch, watchInserts } from './insert-watch.ts'
import { startLoad } from './load.ts'

const KILLS = extent(4, 30)

describe.skipIf(!services)('persistence that is killed at critical moments', () => {
  let fleet: Fleet
  let pipeline: Awaited<ReturnType<Fleet['startPipeline']>>
  let listener: pg.Client
  let inserts: InsertWatch
  beforeAll(async () => {
    fleet = await createFleet()
    inserts = await watchInserts(fleet.env.CLICKHOUSE_URL)
    pipeline = await fleet.startPipeline({ CLICKHOUSE_URL: inserts.url })
    listener = new pg.Client(fleet.env.DATABASE_URL)
    await listener.connect()
    await listener.query(`
      CREATE FUNCTION tell() RETURNS trigger LANGUAGE plpgsql AS
      $$ BEGIN PERFORM pg_notify('committed', ''); RETURN NULL; END $$`)
  })
  afterAll(async () => {
    await listener?.end()
    await fleet?.stop()
    await inserts?.stop()
  })

  /** Kills the persistence consumer whenever `listen` reports a write, under load, and counts what is stored. */
  const killAt = async (name: string, where: string, listen: (heard: () => void) => void): Promise<void> => {
    // Slower than what is stored between two kills, to avoid a growing backlog.
    const { stop } = startLoad({ name, send: pipeline.gateway.request, batch: 5, pauseMs: 100 })
    let kills = 0
    while (kills < KILLS) {
      let heard = false
      const killed = new Promise<void>((resolve, reject) => {
        listen(() => {
          heard = true
          pipeline.persistence.kill().then(resolve, reject)
        })
      })
      await eventually('something is stored', () => heard)
      await killed
      kills++
      await pipeline.persistence.restart()
    }
    await expectStoredOnce(fleet, await stop(), `persistence killed ${kills} times ${where}`)
    expect(kills).toBe(KILLS)
  }

  it(
    'loses and repeats nothing: between the primary database and the event store',
    async () => {
      // Received as soon as the transaction is committed.
      await listener.query(`
        CREATE TRIGGER tell AFTER INSERT ON ingest.event_ids FOR EACH STATEMENT EXECUTE FUNCTION tell()`)
      await listener.query('LISTEN committed')
      await killAt('point-database', 'between the primary database and the event store', (heard) => {
        listener.once('notification', heard)
      })
      await listener.query('DROP TRIGGER tell ON ingest.event_ids')
    },
    extent(180_000, 1_800_000),
  )

  it(
    'loses and repeats nothing: between the stores and the offset',
    async () => {
      await killAt('point-analytics', 'between the stores and the offset', (heard) => {
        inserts.onStored = () => {
          inserts.onStored = undefined
          heard()
        }
      })
    },
    extent(180_000, 1_800_000),
  )
})
