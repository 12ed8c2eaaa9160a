import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { chmod, mkdtemp, readFile, rm } from 'node:fs/promises'
import { createServer } from 'node:net'
import { tmpdir } from 'node:os'
import path from 'node:path'
import { eventually, freePort } from '@waymark/testing'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'

const MAIN = path.resolve(import.meta.dirname, '../src/main.ts')

describe('what a start says', { timeout: 150_000 }, () => {
  let dataDir: string
  beforeAll(async () => {
    dataDir = await mkdtemp(path.join(tmpdir(), 'waymark-start-'))
    await chmod(dataDir, 0o755)
  })
  afterAll(() => rm(dataDir, { recursive: true, force: true }))

  const start = (port: number) => {
    const child = spawn(process.execPath, [MAIN], {
      env: { PATH: process.env.PATH, WAYMARK_DATA_DIR: dataDir, PORT: `${port}`, METRICS_PORT: '0' },
      stdio: ['ignore', 'pipe', 'pipe'],
    })
    const said = { out: '', err: '' }
    child.stdout.on('data', (chunk) => (said.out += chunk))
    child.stderr.on('data', (chunk) => (said.err += chunk))
    const ended = once(child, 'close').then(([code]) => code as number | null)
    return { child, said, ended }
  }
  const greetingOf = async (port: number): Promise<string> => {
    const { child, said, ended } = start(port)
    try {
      await eventually('it greets', () => said.out.includes('Waymark answers on'), 60_000)
    } catch (error) {
      child.kill('SIGKILL')
      throw new Error(`It did not greet:\n${said.out}${said.err}`, { cause: error })
    }
    child.kill('SIGTERM')
    expect(await ended).toBe(0)
    return said.out
  }

  it('shows the key once, and then where it is kept', async () => {
    const port = await freePort()
    const first = await greetingOf(port)
    const file = path.join(dataDir, 'demo.json')
    const { apiKey } = JSON.parse(await readFile(file, 'utf8')) as { apiKey: string }
    expect(first).toContain(apiKey)
    const second = await greetingOf(port)
    expect(second).not.toContain(apiKey)
    expect(second).toContain(file)
  })

  it('is one line when the port is taken', async () => {
    const port = await freePort()
    const other = createServer().listen(port)
    await once(other, 'listening')
    const { said, ended } = start(port)
    expect(await ended).toBe(1)
    expect(said).toEqual({ out: '', err: `Port ${port} is taken. Set PORT to another one.\n` })
    other.close()
  })
})
