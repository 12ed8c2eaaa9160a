import { execFileSync } from 'node:child_process'
import { chmod, mkdir, mkdtemp, readFile, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import path from 'node:path'
import {
  type Constellation,
  copyStandaloneDatabase,
  createClient,
  eventually,
  freePort,
  startProcess,
} from '@waymark/testing'
import { expect, it, onTestFinished } from 'vitest'

const MAIN = path.resolve(import.meta.dirname, '../src/main.ts')
/** Keeps the owners, because as root the database runs as another user. */
const copyFolder = (from: string, to: string) => execFileSync('cp', ['-a', from, to])

// The steps of docs/backup.md, "A standalone process".
it('restored from a copy of its directory, has each event once when clients send them again', async () => {
  const root = await mkdtemp(path.join(tmpdir(), 'waymark-backup-'))
  onTestFinished(() => rm(root, { recursive: true, force: true }))
  await chmod(root, 0o755)
  const [dataDir, copy] = [path.join(root, 'data'), path.join(root, 'copy')]
  await mkdir(dataDir)
  await copyStandaloneDatabase(path.join(dataDir, 'postgres'))
  const port = await freePort()
  const start = async () => {
    const { child, stdout, output, ended, kill } = startProcess(process.execPath, [MAIN], {
      env: {
        PATH: process.env.PATH,
        WAYMARK_DATA_DIR: dataDir,
        WAYMARK_DEMO_DATA: 'off',
        PORT: `${port}`,
        METRICS_PORT: '0',
      },
    })
    onTestFinished(kill)
    await eventually('it greets', () => stdout().includes('Waymark answers on')).catch((error) => {
      throw new Error(`It did not greet:\n${output()}`, { cause: error })
    })
    return async (): Promise<void> => {
      child.kill('SIGTERM')
      expect(await ended).toBe(0)
    }
  }
  let stop = await start()
  const { apiKey, projectId } = JSON.parse(await readFile(path.join(dataDir, 'demo.json'), 'utf8')) as Pick<
    Constellation,
    'apiKey' | 'projectId'
  >
  const request: Constellation['request'] = (requested, { headers, ...init } = {}) =>
    fetch(`http://localhost:${port}${requested}`, {
      ...init,
      headers: { 'X-API-Key': apiKey, ...Object.fromEntries(new Headers(headers)) },
    })
  const { call, manage } = createClient(() => ({ projectId, request }))
  /** Sends events, the first half of them synchronously, and waits until all are stored. */
  const send = async (names: readonly string[], stored: readonly string[]): Promise<void> => {
    for (const [index, eventId] of names.entries()) {
      const event = { eventId, eventName: 'order_placed', visitorId: eventId, properties: { total: 10 } }
      const sync = index < names.length / 2
      const { status } = await call('POST', `/api/v1/t${sync ? '?sync=1' : ''}`, event)
      expect(status).toBe(sync ? 200 : 202)
    }
    await eventually('all are stored', async () => (await storedEvents()).length >= stored.length)
    expect(await storedEvents()).toEqual([...stored].sort())
  }
  const storedEvents = async () =>
    ((await manage('GET', 'events?limit=100')).body.data as { eventId: string }[])
      .map(({ eventId }) => eventId)
      .sort()
  const conversions = async () =>
    ((await manage('GET', 'conversions?limit=100')).body.data as object[]).length

  const before = ['before 1', 'before 2', 'before 3', 'before 4']
  const after = ['after 1', 'after 2', 'after 3', 'after 4']
  await send(before, before)
  await stop()
  copyFolder(dataDir, copy)
  stop = await start()
  await send(after, [...before, ...after])
  const converted = await conversions()
  await stop()

  await rm(dataDir, { recursive: true })
  copyFolder(copy, dataDir)
  stop = await start()
  expect(await storedEvents()).toEqual(before)
  await send([...after, ...before], [...before, ...after])
  expect(await conversions()).toBe(converted)
  await stop()
})
