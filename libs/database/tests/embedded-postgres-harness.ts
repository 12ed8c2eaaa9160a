import * as fs from 'node:fs/promises'
import os from 'node:os'
import path from 'node:path'
import { startProcess, type TestProcess } from '@waymark/testing/child-process'
import { Client } from 'pg'
import { afterAll, afterEach, expect } from 'vitest'
import { systemDirectory } from '../src/embedded-postgres/binaries.ts'
import { isAlive, startMark } from '../src/embedded-postgres/processes.ts'
import { type EmbeddedPostgresOptions, startEmbeddedPostgres } from '../src/embedded-postgres.ts'

export const isRoot = process.getuid?.() === 0
export const cleanUps: (() => Promise<unknown>)[] = []

/** Stops and removes what the tests of a file have started, after each. */
export const cleanUpAfterTests = (): void => {
  afterEach(async () => {
    // One failure must not skip the others, which stop servers.
    const errors: unknown[] = []
    for (const cleanUp of cleanUps.splice(0).reverse()) await cleanUp().catch((error) => errors.push(error))
    expect(errors).toEqual([])
  })
  afterAll(async () => {
    if (isRoot) await fs.rmdir(systemDirectory).catch(() => {}) // The directory may belong to another test.
  })
}

// In a container without an init process, a dead orphan remains as a zombie.
export const isRunning = async (pid: number) => isAlive(pid) && (await startMark(pid)) !== 'zombie'

export const postmasterOf = async (dataDir: string) =>
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
export const workDir = async (mode = 0o755) => {
  const directory = await fs.realpath(await fs.mkdtemp(path.join(os.tmpdir(), 'waymark-postgres-')))
  await fs.chmod(directory, mode)
  cleanUps.push(async () => {
    await removeLinkedFrom(directory)
    await fs.rm(directory, { recursive: true, force: true, maxRetries: 5 })
  })
  return directory
}

export const start = async (options: EmbeddedPostgresOptions) => {
  const server = await startEmbeddedPostgres(options)
  cleanUps.push(server.stop)
  return server
}

export const query = async (url: string, sql: string): Promise<unknown[][]> => {
  const client = new Client({ connectionString: url })
  client.on('error', () => {})
  await client.connect()
  try {
    return (await client.query({ text: sql, rowMode: 'array' })).rows
  } finally {
    await client.end()
  }
}

export const insert = (url: string) =>
  query(url, 'CREATE TABLE kept (n int); INSERT INTO kept VALUES (42)').then(() => {})
export const kept = (url: string) => query(url, 'SELECT n FROM kept')

// Starts a server, prints its address, and stops it when its input ends.
export const script = `
  const { startEmbeddedPostgres } = await import(process.argv[1])
  const server = await startEmbeddedPostgres({ dataDir: process.argv[2], log: console.error })
  console.log(server.url)
  process.stdin.resume().once('end', () => server.stop())
`
export const moduleUrl = new URL('../src/embedded-postgres.ts', import.meta.url).href

export const spawnHolder = (dataDir: string, user: { uid?: number; gid?: number } = {}) => {
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

export const end = async ({ child, ended }: TestProcess) => {
  child.stdin.end()
  await ended
}
