import { readdir, readFile } from 'node:fs/promises'
import path from 'node:path'
import { setTimeout as sleep } from 'node:timers/promises'
import { gunzipSync } from 'node:zlib'
import {
  eventually,
  extent,
  hasS3Server,
  type S3Server,
  services,
  startS3Server,
  startTcpProxy,
  type TcpProxy,
} from '@waymark/testing'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { expectStoredOnce, report } from './audit.ts'
import { AWAY_MS, DEADLINE_MS, RECOVERY_MS } from './durations.ts'
import { createFleet, type Fleet } from './fleet.ts'
import { slowestMs, startLoad } from './load.ts'

/** The longest time until a file that failed is tried again, in ms: at most as long as it has failed. */
const RETRY_MS = Math.min(AWAY_MS, 10 * 60_000)
const PRELOAD = path.resolve(import.meta.dirname, 'skewed-clock.mjs')
const TWO_HOURS_MS = 2 * 60 * 60_000

describe.skipIf(!services || !hasS3Server)('the archive under load', () => {
  let fleet: Fleet
  let pipeline: Awaited<ReturnType<Fleet['startPipeline']>>
  let server: S3Server
  let proxy: TcpProxy

  beforeAll(async () => {
    server = await startS3Server()
    proxy = await startTcpProxy(server.endpoint)
    fleet = await createFleet()
    await fleet.db.prisma.project.update({
      where: { id: fleet.projectId },
      data: { settings: { archiveEvents: true } },
    })
    pipeline = await fleet.startPipeline({
      NODE_OPTIONS: `--import ${PRELOAD}`,
      CLOCK_JUMP_MS: `${-TWO_HOURS_MS}`,
      ARCHIVE_S3_BUCKET: server.bucket,
      ARCHIVE_S3_ENDPOINT: `http://127.0.0.1:${proxy.port}`,
      ARCHIVE_S3_ACCESS_KEY_ID: server.accessKeyId,
      ARCHIVE_FORMAT: 'jsonl.gz',
      ARCHIVE_S3_SECRET_ACCESS_KEY: server.secretAccessKey,
    })
    // Events are received in an hour that is over, so that they are archived at once.
    process.kill(pipeline.gateway.pid, 'SIGUSR2')
  }, 240_000)
  afterAll(async () => {
    await fleet?.stop()
    await proxy?.stop()
    await server?.stop()
  })

  const countOf = async (from: string): Promise<number> => {
    const { rows } = await fleet.db.pool.query<{ n: number }>(`SELECT count(*)::int AS n FROM ${from}`)
    return rows[0]?.n ?? 0
  }

  /** How often each event is in the files that have a manifest. */
  const readArchive = async (): Promise<Map<string, number>> => {
    const times = new Map<string, number>()
    const names = await readdir(server.folder, { recursive: true })
    for (const name of names.filter((one) => one.endsWith('.manifest.json'))) {
      const manifest = await readFile(path.join(server.folder, name), 'utf8')
      const { file } = JSON.parse(manifest) as { file: string }
      const lines = gunzipSync(await readFile(path.join(server.folder, file))).toString()
      for (const line of lines.trimEnd().split('\n')) {
        const { eventId } = JSON.parse(line) as { eventId: string }
        times.set(eventId, (times.get(eventId) ?? 0) + 1)
      }
    }
    return times
  }

  const faults: Record<string, { begin: () => unknown; isFelt: () => Promise<boolean> }> = {
    unavailable: {
      begin: () => proxy.cut(),
      isFelt: async () => (await countOf('ingest.archive_files WHERE failures > 0')) > 0,
    },
    silent: {
      begin: () => proxy.freeze(),
      isFelt: async () => (await countOf('ingest.archive_files WHERE finished_at IS NULL')) > 0,
    },
  }

  it.each(extent(['unavailable'], Object.keys(faults)))(
    'has each event once after S3 was %s, and no event is refused meanwhile',
    async (name) => {
      const { load, stop } = startLoad({ name: `archived-${name}`, send: pipeline.gateway.request })
      const finished = await countOf('ingest.archive_files WHERE finished_at IS NOT NULL')
      await eventually(
        'a file is finished',
        async () => (await countOf('ingest.archive_files WHERE finished_at IS NOT NULL')) > finished,
        RECOVERY_MS,
      )
      const fault = faults[name]
      await fault?.begin()
      const before = load.acknowledged.size
      await eventually('the archive notices', async () => fault?.isFelt() ?? false, RECOVERY_MS)
      await sleep(AWAY_MS)
      const meanwhile = load.acknowledged.size - before
      await proxy.restore()
      await stop()
      const what = `S3 ${name} for ${AWAY_MS / 1000} s`
      await expectStoredOnce(fleet, load, what)
      await eventually(
        'nothing waits for the archive',
        async () => (await countOf('ingest.archive_queue')) === 0,
        RECOVERY_MS + RETRY_MS,
      )
      const times = await readArchive()
      const missing = load.sent.filter((id) => !times.has(id))
      report(`${what}, archive`, {
        'acknowledged meanwhile': meanwhile,
        files: await countOf('ingest.archive_files'),
        'events archived': times.size,
        missing: missing.length,
        twice: [...times.values()].filter((count) => count > 1).length,
      })
      expect(missing).toEqual([])
      expect([...times].filter(([, count]) => count > 1)).toEqual([])
      expect(meanwhile).toBeGreaterThan(0)
      expect(load.attempts.filter(({ status }) => status !== 202)).toEqual([])
      expect(slowestMs(load)).toBeLessThan(DEADLINE_MS)
      expect(pipeline.persistence.isAlive()).toBe(true)
    },
    300_000 + AWAY_MS + RETRY_MS,
  )
})
