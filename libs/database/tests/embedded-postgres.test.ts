import { pbkdf2 } from 'node:crypto'
import { existsSync } from 'node:fs'
import * as fs from 'node:fs/promises'
import os from 'node:os'
import path from 'node:path'
import { promisify } from 'node:util'
import { startProcess, type TestProcess } from '@waymark/testing/child-process'
import { Client } from 'pg'
import { afterAll, afterEach, describe, expect, test } from 'vitest'
import { findBinaries, runnableBinaries, systemDirectory } from '../src/embedded-postgres/binaries.ts'
import { lockDataDir } from '../src/embedded-postgres/data-dir-lock.ts'
import { systemUser, userOf } from '../src/embedded-postgres/os-user.ts'
import { isAlive, startMark } from '../src/embedded-postgres/processes.ts'
import {
  DataDirInUseError,
  type EmbeddedPostgresOptions,
  startEmbeddedPostgres,
} from '../src/embedded-postgres.ts'

const isRoot = process.getuid?.() === 0
const nobody = 65534
const cleanUps: (() => Promise<unknown>)[] = []

afterEach(async () => {
  // One failure must not skip the others, which stop servers.
  const errors: unknown[] = []
  for (const cleanUp of cleanUps.splice(0).reverse()) await cleanUp().catch((error) => errors.push(error))
  expect(errors).toEqual([])
})

afterAll(async () => {
  if (isRoot) await fs.rmdir(systemDirectory).catch(() => {}) // The directory may belong to another test.
})

// In a container without an init process, a dead orphan remains as a zombie.
const isRunning = async (pid: number) => isAlive(pid) && (await startMark(pid)) !== 'zombie'

const postmasterOf = async (dataDir: string) =>
  Number.parseInt(await fs.readFile(path.join(dataDir, 'data/postmaster.pid'), 'utf8'), 10)

// The data that servers below `directory` store elsewhere, even after a failed test.
const removeLinkedFrom = async (directory: string) => {
  for (const name of await fs.readdir(systemDirectory).catch((): string[] => [])) {
    const place = path.join(systemDirectory, name)
    const from = await fs.readFile(path.join(place, 'linked-from'), 'utf8').catch(() => '')
    if (from.startsWith(`${directory}/`)) await fs.rm(place, { recursive: true, force: true, maxRetries: 5 })
  }
}

/** A directory that every user may enter (as root, others could not enter what mkdtemp makes). */
const workDir = async (mode = 0o755) => {
  const directory = await fs.realpath(await fs.mkdtemp(path.join(os.tmpdir(), 'waymark-postgres-')))
  await fs.chmod(directory, mode)
  cleanUps.push(async () => {
    await removeLinkedFrom(directory)
    await fs.rm(directory, { recursive: true, force: true, maxRetries: 5 })
  })
  return directory
}

const start = async (options: EmbeddedPostgresOptions) => {
  const server = await startEmbeddedPostgres(options)
  cleanUps.push(server.stop)
  return server
}

const query = async (url: string, sql: string): Promise<unknown[][]> => {
  const client = new Client({ connectionString: url })
  client.on('error', () => {})
  await client.connect()
  try {
    return (await client.query({ text: sql, rowMode: 'array' })).rows
  } finally {
    await client.end()
  }
}

const insert = (url: string) =>
  query(url, 'CREATE TABLE kept (n int); INSERT INTO kept VALUES (42)').then(() => {})
const kept = (url: string) => query(url, 'SELECT n FROM kept')

// Starts a server, prints its address, and stops it when its input ends.
const script = `
  const { startEmbeddedPostgres } = await import(process.argv[1])
  const server = await startEmbeddedPostgres({ dataDir: process.argv[2], log: console.error })
  console.log(server.url)
  process.stdin.resume().once('end', () => server.stop())
`
const moduleUrl = new URL('../src/embedded-postgres.ts', import.meta.url).href

const spawnHolder = (dataDir: string, user: { uid?: number; gid?: number } = {}) => {
  const args = ['--input-type=module', '-e', script, moduleUrl, dataDir]
  const holder = startProcess(process.execPath, args, {
    ...user,
    cwd: '/',
    keepInputOpen: true,
    keepGroup: true,
  })
  const { child, ended, stderr } = holder
  cleanUps.push(async () => {
    await end(holder)
    const orphan = await postmasterOf(dataDir).catch(() => undefined)
    if (orphan && (await isRunning(orphan))) process.kill(orphan, 'SIGQUIT')
  })
  const url = new Promise<string>((resolve, reject) => {
    child.stdout.once('data', (chunk) => resolve(String(chunk).trim()))
    ended.then(() => reject(new Error(stderr())), reject)
  })
  return { ...holder, url }
}

const end = async ({ child, ended }: TestProcess) => {
  child.stdin.end()
  await ended
}

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

test('takes over from a dead process whose pids were reused, and does not touch those processes', async () => {
  const dataDir = path.join(await workDir(), 'postgres')
  const first = await start({ dataDir })
  await insert(first.url)
  await first.stop()
  // The user of the server, so that PostgreSQL takes the process for a running postmaster.
  const owner = await fs.stat(path.join(dataDir, 'data'))
  const user = isRoot ? { uid: owner.uid, gid: owner.gid } : {}
  const { child: bystander, kill } = startProcess('sleep', ['600'], { ...user, cwd: '/' })
  cleanUps.push(kill)
  const { pid } = bystander
  await fs.writeFile(path.join(dataDir, 'owner.json'), JSON.stringify({ pid, host: 'before' }))
  const pidFile = path.join(dataDir, 'data/postmaster.pid')
  await fs.writeFile(
    pidFile,
    [pid, path.join(dataDir, 'data'), 1, 1, '', '127.0.0.1', '1 1', 'ready   ', ''].join('\n'),
  )
  await fs.chown(pidFile, owner.uid, owner.gid)

  const second = await start({ dataDir, waitMs: 0 })
  expect(await kept(second.url)).toEqual([[42]])
  expect(bystander.exitCode ?? bystander.signalCode).toBe(null)
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

test('reports a server that exits before the next file operation ends', async () => {
  const dataDir = path.join(await workDir(), 'postgres')
  await (await start({ dataDir })).stop()
  // Keeps the threads of file operations busy.
  let busy = true
  const work = async () => {
    while (busy) await promisify(pbkdf2)('', '', 50_000, 32, 'sha256')
  }
  const works = Array.from({ length: 8 }, work)
  cleanUps.push(async () => {
    busy = false
    await Promise.all(works)
  })
  await expect(startEmbeddedPostgres({ dataDir, settings: { no_such: '1' } })).rejects.toThrow(
    'unrecognized configuration parameter "no_such"',
  )
})

describe('in another container', () => {
  // A separate namespace for process ids and shared memory, like a container; its init outlives the holder.
  const inContainer = ['--pid', '--ipc', '--mount-proc', '--fork', '--kill-child']
  const spawnInContainer = (dataDir: string) => {
    const node = [process.execPath, '--input-type=module', '-e', script, moduleUrl, dataDir]
    // The shell gives a background process no input, so it is passed by another descriptor.
    const init = ['/bin/bash', '-c', 'exec 4<&0; "$@" <&4 & wait $!; tail -f /dev/null', 'sh', ...node]
    const container = startProcess('unshare', [...inContainer, ...init], { cwd: '/', keepInputOpen: true })
    const { child, ended, stderr, kill } = container
    cleanUps.push(kill)
    const url = new Promise<string>((resolve, reject) => {
      child.stdout.once('data', (chunk) => resolve(String(chunk).trim()))
      ended.then(() => reject(new Error(stderr())), reject)
    })
    return { ...container, url }
  }
  const childrenOf = async (pid: number | undefined) =>
    (await fs.readFile(`/proc/${pid}/task/${pid}/children`, 'utf8')).trim().split(' ').map(Number)

  test('a second process is refused while the first one works on the data', async ({ skip }) => {
    skip(!isRoot || process.platform !== 'linux', 'needs root on Linux')
    const dataDir = path.join(await workDir(), 'postgres')
    const { url } = spawnInContainer(dataDir)
    await insert(await url)
    await expect(startEmbeddedPostgres({ dataDir, waitMs: 300 })).rejects.toThrow(
      /is in use by process \d+ on host .*: stop that one first/,
    )
    expect(await kept(await url)).toEqual([[42]])
  })

  test('a second process is refused while the server of a killed one still runs', async ({ skip }) => {
    skip(!isRoot || process.platform !== 'linux', 'needs root on Linux')
    const dataDir = path.join(await workDir(), 'postgres')
    const { child, url, kill } = spawnInContainer(dataDir)
    await insert(await url)
    const [init] = await childrenOf(child.pid)
    const [holder = 0] = await childrenOf(init)
    process.kill(holder, 'SIGKILL')
    await expect(startEmbeddedPostgres({ dataDir })).rejects.toThrow(
      /PostgreSQL server still runs on .*, left by a killed process in another container/,
    )
    expect(await kept(await url)).toEqual([[42]])

    await kill()
    const server = await start({ dataDir })
    expect(await kept(server.url)).toEqual([[42]])
  })
})

describe('as root', () => {
  test('runs the server as an unprivileged user', async ({ skip }) => {
    skip(!isRoot, 'needs root')
    const dataDir = path.join(await workDir(), 'postgres')
    await start({ dataDir })
    const { uid } = await fs.stat(`/proc/${await postmasterOf(dataDir)}`)
    expect(uid).toBe((await systemUser(() => {})).uid)
  })

  test('stores the data elsewhere when the server could not access it', async ({ skip }) => {
    skip(!isRoot, 'needs root')
    const home = await workDir(0o700)
    const dataDir = path.join(home, '.waymark', 'postgres')
    const first = await start({ dataDir })
    const before = await fs.readlink(dataDir)
    expect(before.startsWith(systemDirectory)).toBe(true)
    expect((await fs.stat(home)).mode & 0o777).toBe(0o700)
    await insert(first.url)
    await first.stop()

    const again = await start({ dataDir })
    expect(await kept(again.url)).toEqual([[42]])
    await again.stop()

    // A data directory moved with its link keeps its data, and a new start in the old place does not change it.
    const moved = path.join(home, 'moved')
    await fs.rename(path.join(home, '.waymark'), moved)
    const after = await start({ dataDir: path.join(moved, 'postgres') })
    const fresh = await start({ dataDir })
    expect(await kept(after.url)).toEqual([[42]])
    await expect(kept(fresh.url)).rejects.toThrow('does not exist')
    await Promise.all([after.stop(), fresh.stop()])
  })

  test('starts again when the data directory was deleted, even with the old server still running', async ({
    skip,
  }) => {
    skip(!isRoot, 'needs root')
    const dataDir = path.join(await workDir(0o700), '.waymark', 'postgres')
    const { kill, url } = spawnHolder(dataDir)
    await insert(await url)
    const before = await fs.readlink(dataDir)
    const orphan = await postmasterOf(dataDir)
    await kill()
    await fs.rm(path.dirname(dataDir), { recursive: true })

    const server = await start({ dataDir })
    await expect(kept(server.url)).rejects.toThrow('does not exist')
    expect(await isRunning(orphan)).toBe(false)
    expect(existsSync(before)).toBe(false)
  })

  test('copies the programs when an unprivileged user could not run them', async ({ skip }) => {
    skip(!isRoot, 'needs root')
    const closed = await workDir(0o700)
    const { postgres } = await findBinaries()
    await fs.cp(path.resolve(postgres, '../../..'), closed, { recursive: true, verbatimSymlinks: true })
    await fs.chmod(closed, 0o700)
    const copiesBefore = await fs.readdir(systemDirectory).catch((): string[] => [])
    const bin = (name: string) => path.join(closed, 'native/bin', name)
    const user = await systemUser(() => {})
    const hidden = { postgres: bin('postgres'), initdb: bin('initdb'), pg_ctl: bin('pg_ctl') }
    const copies = await Promise.all([1, 2].map(() => runnableBinaries(hidden, user, () => {})))
    const copy = path.basename(path.resolve(copies[0]?.postgres ?? '', '../..'))
    if (!copiesBefore.includes(copy)) {
      cleanUps.push(() => fs.rm(path.join(systemDirectory, copy), { recursive: true }))
    }
    expect(copies[0]).toEqual(copies[1])
    expect((await fs.readdir(systemDirectory)).filter((name) => name.startsWith(copy))).toEqual([copy])
  })

  test('shares a data directory with the ordinary user who created it, but not vice versa', async ({
    skip,
  }) => {
    skip(!isRoot || !(await userOf(nobody, nobody)), 'needs root and a user with id 65534')
    const directory = await workDir()
    await fs.chown(directory, nobody, nobody)
    const dataDir = path.join(directory, '.waymark', 'postgres')
    const asNobody = { uid: nobody, gid: nobody }

    const first = spawnHolder(dataDir, asNobody)
    await insert(await first.url)
    expect((await fs.stat(`/proc/${await postmasterOf(dataDir)}`)).uid).toBe(nobody)
    await end(first)

    const asRoot = await start({ dataDir })
    expect(await kept(asRoot.url)).toEqual([[42]])
    await asRoot.stop()

    const third = spawnHolder(dataDir, asNobody)
    expect(await kept(await third.url)).toEqual([[42]])
    await end(third)

    // Data copied or restored by root is given back to the user that runs the server.
    await fs.chown(path.join(dataDir, 'data'), 0, 0)
    const repaired = await start({ dataDir })
    expect(await kept(repaired.url)).toEqual([[42]])
    await repaired.stop()
    await expect(spawnHolder(dataDir, asNobody).url).rejects.toThrow(
      /belongs to the user with id \d+.*chown -R 65534/,
    )
  })
})
