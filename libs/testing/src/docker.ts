import { execFile } from 'node:child_process'
import { promisify } from 'node:util'
import { eventually } from './eventually.ts'

const run = promisify(execFile)

/** Runs a command of Docker's; the kernel may be too busy at the first attempt. */
export const docker = (...words: string[]): Promise<string> =>
  eventually(
    `docker ${words.join(' ')}`,
    async () => `${(await run('docker', words, { timeout: 60_000 })).stdout} `,
  )
