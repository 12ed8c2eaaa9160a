import { type ChildProcess, spawn } from 'node:child_process'
import { randomInt } from 'node:crypto'
import { readFile, rm, stat } from 'node:fs/promises'
import { createServer } from 'node:net'
import path from 'node:path'
import { createInterface } from 'node:readline'
import type { Readable } from 'node:stream'
import type { Binaries } from './binaries.ts'
import { childOptions, isAlive, type Log, type OsUser, run, waitUntil } from './processes.ts'
import { lockServer } from './server-lock.ts'

export type ServerExit = { code: number | null; signal: string | null }
export type Server = { port: number; exited: Promise<ServerExit>; stop(): Promise<void> }

type Options = {
  binaries: Binaries
  /** PostgreSQL's own directory, without symbolic links. */
  data: string
  user: OsUser | undefined
  settings: Record<string, string>
  /** Where to listen; a free port when undefined. */
  port?: number | undefined
  log: Log
}

/** Time for the processes of a killed server to end, in ms. */
const LEFT_PROCESSES_MS = 10_000
const fastMs = 10_000
const immediateMs = 10_000

const shutdowns = [
  { signal: 'SIGINT', ms: fastMs },
  { signal: 'SIGQUIT', ms: immediateMs },
] as const

// Windows has no such signals. There PostgreSQL receives them through a pipe.
const send = async (pid: number, signal: 'SIGINT' | 'SIGQUIT', { pg_ctl }: Binaries): Promise<void> => {
  if (process.platform === 'win32') await run(pg_ctl, ['kill', signal.slice(3), String(pid)])
  else if (isAlive(pid)) process.kill(pid, signal)
}

// Line 1 is the pid and line 8 the state, as pg_ctl reads them.
const readPidFile = async (data: string) => {
  const lines = (await readFile(path.join(data, 'postmaster.pid'), 'utf8').catch(() => '')).split('\n')
  return { pid: Number(lines[0]), ready: lines[7]?.trim() === 'ready' }
}

// The program comes first. Undefined when the system does not provide it.
const commandLineOf = async (pid: number): Promise<string[] | undefined> => {
  if (process.platform === 'linux') {
    const line = await readFile(`/proc/${pid}/cmdline`, 'utf8').catch(() => undefined)
    return line?.split('\0')
  }
  const { ok, stdout } =
    process.platform === 'win32'
      ? await run('tasklist', ['/fi', `PID eq ${pid}`, '/fo', 'csv', '/nh'])
      : await run('ps', ['-ww', '-o', 'command=', '-p', String(pid)])
  return ok ? [stdout.trim()] : undefined
}

type Match = 'ours' | 'unrelated' | 'unknown'

const matchPostmaster = async (pid: number, data: string): Promise<Match> => {
  const command = await commandLineOf(pid)
  if (command === undefined) return 'unknown'
  if (process.platform !== 'linux') {
    const line = command.join(' ')
    if (!line.includes('postgres')) return 'unrelated'
    return process.platform === 'win32' || line.includes(data) ? 'ours' : 'unknown'
  }
  if (path.basename(command[0] ?? '') !== 'postgres') return 'unrelated'
  // The working directory of a postmaster is its data directory. Reading it may not be permitted.
  const cwd = await stat(`/proc/${pid}/cwd/`).catch(() => undefined)
  if (cwd === undefined) return command.includes(data) ? 'ours' : 'unknown'
  const { dev, ino } = await stat(data)
  return cwd.dev === dev && cwd.ino === ino ? 'ours' : 'unrelated'
}

/**
 * Stops the server that a killed process left running in `data`. Call it only while holding the lock of the directory, so
 * that no other process can own the server.
 */
export const stopLeftServer = async (data: string, binaries: Binaries, log: Log): Promise<void> => {
  const { pid } = await readPidFile(data)
  // PostgreSQL replaces the file of a server that no longer runs.
  if (!(pid > 0) || !isAlive(pid)) return
  if ((await matchPostmaster(pid, data)) !== 'ours') return
  log(`stopping the PostgreSQL server ${pid}, left running by a process that was killed`)
  for (const { signal, ms } of shutdowns) {
    await send(pid, signal, binaries)
    if (await waitUntil(async () => !isAlive(pid) || (await matchPostmaster(pid, data)) !== 'ours', ms))
      return
  }
  throw new Error(`The PostgreSQL server ${pid}, left running in ${data}, does not stop: stop it by hand`)
}

// PostgreSQL would not start while an unrelated process of this user has the pid of the previous server.
const removeStalePidFile = async (data: string): Promise<void> => {
  const { pid } = await readPidFile(data)
  if (!(pid > 0) || !isAlive(pid) || (await matchPostmaster(pid, data)) !== 'unrelated') return
  await rm(path.join(data, 'postmaster.pid'), { force: true })
}

// Below the ports that a system gives to outgoing connections (from 32768 on Linux, from 49152 on others). One of these would
// keep the server from starting again on its port: in the worst case that of a client that waits for it, connected to itself.
const [FIRST_PORT, PORTS] = [30_000, 2_768]
const MAX_PROBES = 100

/** Whether a port of 127.0.0.1 is free. */
const isFree = (port: number): Promise<boolean> =>
  new Promise((resolve) => {
    const probe = createServer()
    probe.once('error', () => resolve(false))
    probe.listen(port, '127.0.0.1', () => probe.close(() => resolve(true)))
  })

/** A port that is free now. @throws Error when none of many is */
const freePort = async (): Promise<number> => {
  for (let probes = 0; probes < MAX_PROBES; probes++) {
    const port = FIRST_PORT + randomInt(PORTS)
    if (await isFree(port)) return port
  }
  throw new Error(`PostgreSQL finds no free port from ${FIRST_PORT} to ${FIRST_PORT + PORTS - 1}`)
}

// Leaves out routine messages (LOG), and the details of errors, because they may contain personal data.
const createLogFilter = (log: Log): Log => {
  let severity = ''
  return (line) => {
    const [, label] = /^([A-Z]+):/.exec(line) ?? []
    const isDetail = label === undefined || /^(DETAIL|HINT|CONTEXT|QUERY|STATEMENT|LOCATION)$/.test(label)
    if (!isDetail) severity = label
    if (severity === 'LOG' || (isDetail && severity === 'ERROR')) return
    log(line)
  }
}

type Child = ChildProcess & { stderr: Readable }

/** Listens to a server. Call it in the turn that spawned it, because it may exit at once. */
const observe = (child: Child, log: Log) => {
  const output: string[] = []
  const state = { stopping: false, gone: false }
  const filtered = createLogFilter(log)
  createInterface({ input: child.stderr }).on('line', (line) => {
    if (output.push(line) > 50) output.shift()
    // While stopping, every open connection is reported as a fatal error.
    if (!state.stopping) filtered(line)
  })
  const exited = new Promise<ServerExit>((resolve) => {
    child.once('error', (error) => {
      output.push(error.message)
      state.gone = true
      resolve({ code: null, signal: null })
    })
    child.once('exit', (code, signal) => {
      state.gone = true
      // 'close' means that all output is read; orphaned backends could delay it.
      const timer = setTimeout(() => resolve({ code, signal }), 500)
      child.once('close', () => {
        clearTimeout(timer)
        resolve({ code, signal })
      })
    })
  })
  return { child, output, state, exited }
}

const spawnServer = async (program: string, args: string[], { data, user, log }: Options) => {
  const lock = await lockServer(data, LEFT_PROCESSES_MS)
  try {
    // After the lock, because the file of a server in another container looks stale too.
    await removeStalePidFile(data)
    const child = spawn(program, args, {
      ...childOptions(user),
      // Its own session, so that Ctrl-C does not stop the database before the services.
      detached: true,
      stdio: ['ignore', 'ignore', 'pipe', lock?.fd ?? 'ignore'],
    })
    return observe(child as Child, log)
  } finally {
    // The server has inherited the lock and holds it until its last process ends.
    await lock?.close()
  }
}

const launch = async (options: Options) => {
  const { binaries, data, settings, log } = options
  const port = options.port ?? (await freePort())
  const all = { ...settings, port, listen_addresses: '127.0.0.1', unix_socket_directories: '' }
  const args = Object.entries(all).flatMap(([name, value]) => ['-c', `${name}=${value}`])
  const { child, output, state, exited } = await spawnServer(
    binaries.postgres,
    ['-D', data, ...args],
    options,
  )

  const shutDown = async (): Promise<void> => {
    state.stopping = true
    for (const { signal, ms } of shutdowns) {
      if (child.pid !== undefined && !state.gone) await send(child.pid, signal, binaries)
      if (await waitUntil(() => state.gone, ms)) break
    }
    if (!state.gone) child.kill('SIGKILL')
    await exited
  }
  let stopped: Promise<void> | undefined
  const stop = () => {
    stopped ??= shutDown()
    return stopped
  }

  // Without a deadline, because an aborted crash recovery would start over.
  const isReady = async () => {
    const file = await readPidFile(data)
    return state.gone || (file.ready && file.pid === child.pid)
  }
  while (!(await waitUntil(isReady, 10_000))) log('PostgreSQL is still starting (recovering after a crash?)')
  if (state.gone) await exited
  return { server: { port, exited, stop }, failure: state.gone ? output.join('\n') : undefined }
}

// The port was taken meanwhile, or processes of a killed server are still ending.
const retryable =
  /could not create any TCP\/IP sockets|pre-existing shared memory block|"postmaster\.pid" already exists/

/**
 * Starts a server on `port` of 127.0.0.1 and waits until it accepts connections, without a time limit, because crash
 * recovery may take long.
 * @throws Error with the last output of PostgreSQL when it does not start
 */
export const startServer = async (options: Options): Promise<Server> => {
  const deadline = performance.now() + 10_000
  for (;;) {
    const { server, failure } = await launch(options)
    if (failure === undefined) return server
    if (!retryable.test(failure) || performance.now() > deadline) {
      throw new Error(`PostgreSQL does not start in ${options.data}:\n${failure}`)
    }
    await new Promise((resolve) => setTimeout(resolve, 250))
  }
}
