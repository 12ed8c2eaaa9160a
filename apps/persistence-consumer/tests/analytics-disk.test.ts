import { spawnSync } from 'node:child_process'
import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import path from 'node:path'
import type { EnrichedEvent } from '@waymark/contracts/records/enriched-event'
import { enrichedEvents } from '@waymark/contracts/topics'
import { partitionKeyOf } from '@waymark/domain/ingestion'
import { EventStoreUnavailableError } from '@waymark/event-store'
import { createSyncProcessor } from '@waymark/pipeline'
import { ensureDemoProject } from '@waymark/project-config'
import {
  createScope,
  duckdbConfig,
  embeddedPlatform,
  limitsConfig,
  readConfig,
  startService,
} from '@waymark/service-kit'
import {
  anEnrichedEvent,
  anIngestRecord,
  createMemoryLog,
  createTestDatabase,
  eventually,
  services,
} from '@waymark/testing'
import { v7 as uuidv7 } from 'uuid'
import { describe, expect, it, onTestFinished } from 'vitest'
import { createPersistenceConsumer } from '../src/app.ts'

const UNAVAILABLE = { code: 'store_unavailable' }

const run = (command: string, ...args: string[]): boolean => spawnSync(command, args).status === 0

/** A file system of its own, which can be filled and, with files open, turned read-only. Undefined without the rights. */
const createDisk = (megabytes: number) => {
  const folder = mkdtempSync(path.join(tmpdir(), 'waymark-disk-'))
  const image = path.join(folder, 'image')
  const place = path.join(folder, 'place')
  const mount = () => run('mount', '-o', 'loop', image, place)
  const isThere =
    run('mkdir', place) &&
    run('truncate', '-s', `${megabytes}M`, image) &&
    run('mkfs.ext4', '-q', image) &&
    mount()
  const filler = path.join(place, 'filler')
  return {
    isThere,
    file: path.join(place, 'analytics.duckdb'),
    fill: () => void run('dd', 'if=/dev/zero', `of=${filler}`, 'bs=64k'),
    empty: () => rmSync(filler),
    /** As the kernel does after an error of the disk: nothing more is written, also to open files. */
    abort: () => run('mount', '-o', 'remount,abort', place),
    /** Repairs it; possible once no file is open. */
    repair: () => run('umount', place) && (run('e2fsck', '-fy', image) || true) && mount(),
    remove: () => {
      run('umount', '--lazy', place)
      rmSync(folder, { recursive: true })
    },
  }
}
const canMount = (() => {
  const disk = createDisk(4)
  disk.remove()
  return disk.isThere
})()

describe.skipIf(!services || !canMount)('persistence-consumer with the analytics file on a bad disk', () => {
  const startWorld = async () => {
    const disk = createDisk(64)
    const database = await createTestDatabase()
    const start = async () => {
      const log = createMemoryLog()
      const scope = createScope(log)
      const platform = await embeddedPlatform(
        {
          databaseUrl: database.url,
          limits: readConfig(limitsConfig, {}),
          eventStore: { file: disk.file, settings: readConfig(duckdbConfig, {}) },
        },
        { name: 'persistence', log, scope },
      )
      const http = { port: 0, metricsPort: 0, trustedProxies: 0 }
      await startService(createPersistenceConsumer(platform), http, platform, scope)
      return { platform, scope }
    }
    let running = await start()
    onTestFinished(async () => {
      await running.scope.dispose()
      await database.drop()
      disk.remove()
    })
    const { projectId } = await ensureDemoProject(running.platform.db)
    const sent: string[] = []
    const publish = async (count: number) => {
      const events = Array.from({ length: count }, (): EnrichedEvent => {
        const eventId = uuidv7()
        return anEnrichedEvent({ projectId, event: { eventId, properties: { text: 'x'.repeat(500) } } })
      })
      await running.platform.bus.publish(
        enrichedEvents,
        events.map((event) => ({ key: partitionKeyOf(projectId, event), value: event })),
      )
      sent.push(...events.map(({ eventId }) => eventId))
    }
    const inAnalytics = async (): Promise<number> => {
      const rows = await running.platform.eventStore.measureTrend({
        projectId,
        metric: 'events',
        from: 0,
        to: Date.now() + 86_400_000,
        buckets: [0],
        filters: [],
        maxGroups: 1,
        includeBots: true,
      })
      return rows.find(({ bucket }) => bucket === null)?.value ?? 0
    }
    const countIn = async (table: string): Promise<number> => {
      const { rows } = await running.platform.db.pool.query(`SELECT count(*)::int AS n FROM ${table}`)
      return rows[0]?.n
    }
    return {
      disk,
      sent,
      publish,
      inAnalytics,
      countIn,
      /** Sends an event that is to be in both stores when this resolves; else the consumer stores it later. */
      ask: () => {
        const eventId = uuidv7()
        sent.push(eventId)
        return createSyncProcessor(running.platform)([anIngestRecord({ projectId, event: { eventId } })])
      },
      restart: async (between: () => void) => {
        await running.scope.dispose()
        between()
        running = await start()
      },
    }
  }
  type World = Awaited<ReturnType<typeof startWorld>>

  /** Events published before, during and after the fault are each stored once, without a dead letter. */
  const expectAllOnce = async ({ sent, publish, ask, countIn, inAnalytics }: World) => {
    await publish(200)
    await ask()
    await eventually(
      'the backlog is drained',
      async () => (await inAnalytics().catch(() => 0)) >= sent.length,
    )
    expect(await inAnalytics()).toBe(sent.length)
    expect(await countIn('ingest.event_ids')).toBe(sent.length)
    expect(await countIn('ingest.dead_letters')).toBe(0)
  }

  it('loses nothing and stores nothing twice when the disk becomes read-only', async () => {
    const world = await startWorld()
    const { disk, publish, inAnalytics, ask, restart } = world
    await publish(500)
    await eventually('the first events are stored', async () => (await inAnalytics()) === 500)
    expect(disk.abort()).toBe(true)
    await publish(500)
    for (let n = 0; n < 3; n++) await expect(ask()).rejects.toMatchObject(UNAVAILABLE)
    // Answers from what it has, or answers that it is unavailable.
    await inAnalytics().then(
      (count) => expect(count).toBe(500),
      (error) => expect(error).toBeInstanceOf(EventStoreUnavailableError),
    )
    await restart(() => expect(disk.repair()).toBe(true))
    await expectAllOnce(world)
  })

  it('loses nothing and stores nothing twice when the disk is full for a while', async () => {
    const world = await startWorld()
    const { disk, publish, inAnalytics, ask } = world
    await publish(500)
    await eventually('the first events are stored', async () => (await inAnalytics()) === 500)
    disk.fill()
    await publish(2_000)
    await eventually('the store cannot write', async () => {
      const failed = await ask().then(
        () => false,
        ({ code }) => code === UNAVAILABLE.code,
      )
      if (!failed) await publish(500)
      return failed
    })
    disk.empty()
    await expectAllOnce(world)
  })
})
