import { existsSync } from 'node:fs'
import * as fs from 'node:fs/promises'
import path from 'node:path'
import { expect, test } from 'vitest'
import { lockDataDir } from '../src/embedded-postgres/data-dir-lock.ts'
import { systemUser } from '../src/embedded-postgres/os-user.ts'
import { DataDirInUseError, startEmbeddedPostgres } from '../src/embedded-postgres.ts'
import {
  cleanUpAfterTests,
  end,
  insert,
  isRoot,
  isRunning,
  kept,
  postmasterOf,
  query,
  spawnHolder,
  start,
  workDir,
} from './embedded-postgres-harness.ts'

cleanUpAfterTests()

test('starts on an empty directory, and keeps the data over a restart', async () => {
  const dataDir = path.join(await workDir(), '.waymark', 'postgres')
  const lines: string[] = []
  const options = { dataDir, log: (line: string) => lines.push(line), settings: { work_mem: '5MB' } }
  const first = await start(options)
  const settings = await query(
    first.url,
    `SELECT name, setting FROM pg_settings WHERE name IN ('fsync', 'full_page_writes', 'jit', 'listen_addresses',
     'max_connections', 'synchronous_commit', 'unix_socket_directories', 'work_mem', 'server_encoding')`,
  )
  expect(Object.fromEntries(settings)).toEqual({
    fsync: 'on',
    full_page_writes: 'on',
    jit: 'off',
    listen_addresses: '127.0.0.1',
    max_connections: '60',
    server_encoding: 'UTF8',
    synchronous_commit: 'on',
    unix_socket_directories: '',
    work_mem: '5120',
  })
  expect(await query(first.url, "SELECT upper('äé'), current_database()")).toEqual([['ÄÉ', 'waymark']])
  await insert(first.url)

  const password = new URL(first.url).password
  expect((await fs.stat(path.join(dataDir, 'password'))).mode & 0o777).toBe(0o600)
  const wrong = first.url.replace(password, 'wrong')
  await expect(query(wrong, 'SELECT 1')).rejects.toThrow('password authentication failed')
  await Promise.all([first.stop(), first.stop()])
  expect(await first.exited).toEqual({ code: 0, signal: null })

  const second = await start(options)
  expect(await kept(second.url)).toEqual([[42]])
  await expect(query(second.url, 'SELECT * FROM missing')).rejects.toThrow()
  await second.stop()
  // No routine messages, no password, and no statements or details of errors.
  expect(lines).toEqual([
    'FATAL:  password authentication failed for user "waymark"',
    expect.stringMatching(/^DETAIL: {2}Connection matched file/),
    'ERROR:  relation "missing" does not exist at character 15',
  ])
})

test('works below a path with spaces and quotes, with a database name that needs quoting', async () => {
  const dataDir = path.join(await workDir(), `it's "my" site`, 'post gres')
  const server = await start({ dataDir, database: 'my "site" é' })
  await insert(server.url)
  expect(await query(server.url, 'SELECT n, current_database() FROM kept')).toEqual([[42, 'my "site" é']])
})

test('restarts a server that ends, on the same port', async () => {
  const dataDir = path.join(await workDir(), 'postgres')
  const lines: string[] = []
  const first = await start({ dataDir, log: (line) => lines.push(line) })
  // Linux takes the ports of outgoing connections from 32768 on, and one of them would be in the way.
  expect(Number(new URL(first.url).port)).toBeLessThan(32_768)
  await insert(first.url)
  process.kill(await postmasterOf(dataDir), 'SIGKILL')
  await expect.poll(() => kept(first.url).catch(() => undefined)).toEqual([[42]])
  expect(lines).toContain('PostgreSQL ended by itself (SIGKILL); starting it again')
  await first.stop()
  expect(await first.exited).toEqual({ code: 0, signal: null })
  const second = await start({ dataDir })
  expect(await kept(second.url)).toEqual([[42]])
})

test('stops the server that a killed process left behind, and keeps committed data', async () => {
  const dataDir = path.join(await workDir(), 'postgres')
  const { kill, url } = spawnHolder(dataDir)
  await insert(await url)
  const orphan = await postmasterOf(dataDir)
  await kill()
  expect(await isRunning(orphan)).toBe(true)
  const server = await start({ dataDir })
  expect(await isRunning(orphan)).toBe(false)
  expect(await kept(server.url)).toEqual([[42]])
})

test('is refused while another process works on the data, and waits for it to end', async () => {
  const dataDir = path.join(await workDir(), 'postgres')
  const holder = spawnHolder(dataDir)
  const { child, url } = holder
  await insert(await url)
  const waiting = start({ dataDir })
  const refused = startEmbeddedPostgres({ dataDir, waitMs: 300 })
  await expect(refused).rejects.toThrow(DataDirInUseError)
  await expect(refused).rejects.toMatchObject({ pid: child.pid, dataDir })
  expect(await kept(await url)).toEqual([[42]])

  await end(holder)
  expect(await kept((await waiting).url)).toEqual([[42]])
})

test('recovers from a killed first start', async () => {
  const killed = async (): Promise<string> => {
    const dataDir = path.join(await workDir(), 'postgres')
    const { kill, url } = spawnHolder(dataDir)
    url.catch(() => {})
    const begun = async () =>
      (await fs.readdir(dataDir).catch(() => [])).find((name) => /^data($|\.new-)/.test(name))
    await expect.poll(begun, { interval: 5 }).toBeDefined()
    await kill()
    // On a busy machine, it may have got further before it was killed.
    return existsSync(path.join(dataDir, 'data')) ? killed() : dataDir
  }
  const dataDir = await killed()
  const server = await start({ dataDir })
  await insert(server.url)
  await server.stop()
  expect((await fs.readdir(dataDir)).sort()).toEqual([
    'data',
    'owner.json',
    'owner.lock',
    'password',
    'server.lock',
  ])
})

test('gives the lock to exactly one of many, and again after its release', async () => {
  const directory = await workDir()
  const attempt = () =>
    Promise.allSettled(Array.from({ length: 20 }, () => lockDataDir(directory, { waitMs: 200 })))
  for (const round of [1, 2]) {
    const won = (await attempt()).filter((each) => each.status === 'fulfilled')
    expect(won, `round ${round}`).toHaveLength(1)
    await won[0]?.value()
  }
})

test('reports why a lock file cannot be locked', async () => {
  const directory = await workDir()
  await fs.writeFile(path.join(directory, 'owner.lock'), 'not what it should be, and long enough to tell')
  await expect(lockDataDir(directory, { waitMs: 0 })).rejects.toThrow(
    /owner\.lock cannot be locked \(file is not a database\): check that this user may write it/,
  )
})

test('starts on a copy of a data directory that is in use', async () => {
  const directory = await workDir()
  const dataDir = path.join(directory, 'postgres')
  const first = await start({ dataDir })
  await insert(first.url)
  await query(first.url, 'CHECKPOINT')
  const copy = path.join(directory, 'copy')
  await fs.cp(dataDir, copy, { recursive: true })
  const second = await start({ dataDir: copy, waitMs: 0 })
  expect(await kept(second.url)).toEqual([[42]])
  expect(await kept(first.url)).toEqual([[42]])
})

test('reports what it does not support', async () => {
  const directory = await workDir()
  const dangling = path.join(directory, 'dangling')
  await fs.symlink(path.join(directory, 'gone'), dangling)
  await expect(startEmbeddedPostgres({ dataDir: dangling })).rejects.toThrow(
    'links to a directory that is gone',
  )

  const dataDir = path.join(directory, 'postgres')
  await expect(startEmbeddedPostgres({ dataDir, settings: { no_such: '1' } })).rejects.toThrow(
    /does not start in .*\n.*unrecognized configuration parameter "no_such"/,
  )
})

test('runs the server as an unprivileged user when root starts it', async ({ skip }) => {
  skip(!isRoot, 'needs root')
  const dataDir = path.join(await workDir(), 'postgres')
  await start({ dataDir })
  const { uid } = await fs.stat(`/proc/${await postmasterOf(dataDir)}`)
  expect(uid).toBe((await systemUser(() => {})).uid)
})
