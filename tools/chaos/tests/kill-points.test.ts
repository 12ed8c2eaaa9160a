import { eventually, extent, services } from '@waymark/testing'
import pg from 'pg'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { expectStoredOnce } from './audit.ts'
import { createFleet, type Fleet } from './fleet.ts'
import { startLoad } from './load.ts'

const KILLS = extent(4, 30)

describe.skipIf(!services)('a persistence that is killed at the worst moment', () => {
  let fleet: Fleet
  let pipeline: Awaited<ReturnType<Fleet['startPipeline']>>
  let listener: pg.Client
  beforeAll(async () => {
    fleet = await createFleet()
    pipeline = await fleet.startPipeline()
    listener = new pg.Client(fleet.env.DATABASE_URL)
    await listener.connect()
    await listener.query(`
      CREATE FUNCTION tell() RETURNS trigger LANGUAGE plpgsql AS
      $$ BEGIN PERFORM pg_notify('committed', TG_ARGV[0]); RETURN NULL; END $$`)
  })
  afterAll(async () => {
    await listener?.end()
    await fleet?.stop()
  })

  it.each([
    ['between the primary database and the analytics store', 'ingest.events'],
    ['between the stores and the offset', 'analytics.events'],
  ])(
    'loses and repeats nothing: %s',
    async (where, table) => {
      // Heard as soon as the transaction is committed.
      await listener.query(`
        CREATE TRIGGER tell AFTER INSERT ON ${table} FOR EACH STATEMENT EXECUTE FUNCTION tell('${table}')`)
      await listener.query('LISTEN committed')
      // No faster than what is stored between two kills, or there would be a backlog for hours.
      const { stop } = startLoad({
        name: `point-${table}`,
        send: pipeline.gateway.request,
        batch: 5,
        pauseMs: 100,
      })
      let kills = 0
      while (kills < KILLS) {
        let heard = false
        const killed = new Promise<void>((resolve, reject) => {
          listener.once('notification', () => {
            heard = true
            pipeline.persistence.kill().then(resolve, reject)
          })
        })
        await eventually('something is stored', () => heard, 60_000)
        await killed
        kills++
        await pipeline.persistence.restart()
      }
      await listener.query(`DROP TRIGGER tell ON ${table}`)
      await expectStoredOnce(fleet, await stop(), `persistence killed ${kills} times ${where}`)
      expect(kills).toBe(KILLS)
    },
    extent(180_000, 1_800_000),
  )
})
