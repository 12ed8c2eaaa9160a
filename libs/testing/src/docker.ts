import { execFile } from 'node:child_process'
import { promisify } from 'node:util'
import { eventually } from './eventually.ts'

const run = promisify(execFile)

/** Runs a Docker command. It is repeated if it fails, because the kernel may be too busy. */
export const docker = (...words: string[]): Promise<string> =>
  eventually(
    `docker ${words.join(' ')}`,
    async () => `${(await run('docker', words, { timeout: 60_000 })).stdout} `,
  )
