import { pbkdf2 } from 'node:crypto'
import { existsSync } from 'node:fs'
import * as fs from 'node:fs/promises'
import path from 'node:path'
import { promisify } from 'node:util'
import { startProcess } from '@waymark/testing/child-process'
import { describe, expect, test } from 'vitest'
import { findBinaries, runnableBinaries, systemDirectory } from '../src/embedded-postgres/binaries.ts'
import { systemUser, userOf } from '../src/embedded-postgres/os-user.ts'
import { startEmbeddedPostgres } from '../src/embedded-postgres.ts'
import {
  cleanUpAfterTests,
  cleanUps,
  end,
  insert,
  isRoot,
  isRunning,
  kept,
  moduleUrl,
  postmasterOf,
  script,
  spawnHolder,
  start,
  workDir,
} from './embedded-postgres-harness.ts'

// Other users, containers and processes on the same data. `embedded-postgres.test.ts` has the usual cases.

const nobody = 65534

cleanUpAfterTests()

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
