import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { chown, open, stat } from 'node:fs/promises'
import path from 'node:path'
import { childOptions } from './processes.ts'

/** The file whose lock the processes of a server hold. */
const lockFile = (data: string): string => path.join(path.dirname(data), 'server.lock')

/** A lock that a child inherits with the descriptor `fd`; `close` releases this process's share. */
type ServerLock = { fd: number; close(): Promise<void> }

/** `flock`'s exit code when another process held the lock for the whole time. */
const HELD = 1

// Node.js has no flock. The program locks the shared open file, so the lock outlives the program.
const flock = async (fd: number, waitMs: number): Promise<boolean> => {
  const args = ['--exclusive', '--timeout', String(waitMs / 1000), '3']
  const child = spawn('flock', args, { ...childOptions(undefined), stdio: ['ignore', 'ignore', 'pipe', fd] })
  let errors = ''
  child.stderr?.on('data', (chunk) => {
    errors += chunk
  })
  const [code] = await once(child, 'close').catch((cause) => {
    throw new Error('The program "flock" does not run: install the package util-linux', { cause })
  })
  if (code !== 0 && code !== HELD) throw new Error(`flock failed with ${code}: ${errors.trim()}`)
  return code === 0
}

/**
 * Takes the lock that marks `data`, PostgreSQL's own directory, as used by a server. All processes of the server
 * inherit it and hold it until the last of them has ended, in any container. PostgreSQL's own check trusts process ids
 * and shared memory, which containers do not share. Waits up to `waitMs` milliseconds for the processes of a server
 * that was just killed. Call it only while holding the lock of the directory.
 * @returns undefined on systems other than Linux, where containers do not share a kernel with this process
 * @throws Error when another server still runs, or the program `flock` is missing
 */
export const lockServer = async (data: string, waitMs: number): Promise<ServerLock | undefined> => {
  if (process.platform !== 'linux') return undefined
  const file = lockFile(data)
  const handle = await open(file, 'a')
  try {
    if (process.getuid?.() === 0) {
      const { uid, gid } = await stat(path.dirname(data))
      await chown(file, uid, gid)
    }
    if (await flock(handle.fd, waitMs)) return { fd: handle.fd, close: () => handle.close() }
    throw new Error(
      `A PostgreSQL server still runs on ${data}, left by a killed process in another container or PID namespace: ` +
        'stop that server or its container, then start again',
    )
  } catch (error) {
    await handle.close()
    throw error
  }
}
