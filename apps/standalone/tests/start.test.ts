import { once } from 'node:events'
import { chmod, mkdtemp, readFile, rm, writeFile } from 'node:fs/promises'
import { type AddressInfo, createServer } from 'node:net'
import { tmpdir } from 'node:os'
import path from 'node:path'
import { copyStandaloneDatabase, eventually, freePort, startProcess } from '@waymark/testing'
import { afterAll, beforeAll, describe, expect, it, onTestFinished } from 'vitest'

const MAIN = path.resolve(import.meta.dirname, '../src/main.ts')

/** A start takes a busy machine up to a minute. */
const GREETS_WITHIN_MS = 150_000
const greeted = ({ stdout }: { stdout: () => string }) =>
  eventually('it greets', () => stdout().includes('Waymark answers on'), GREETS_WITHIN_MS)

describe('the output of a start', () => {
  let dataDir: string
  beforeAll(async () => {
    dataDir = await mkdtemp(path.join(tmpdir(), 'waymark-start-'))
    await chmod(dataDir, 0o755)
    await copyStandaloneDatabase(path.join(dataDir, 'postgres'))
  })
  afterAll(() => rm(dataDir, { recursive: true, force: true }))

  // It writes its own address into files, so it must know its port before it listens.
  const start = (port: number, metricsPort = 0) => {
    const started = startProcess(process.execPath, [MAIN], {
      env: {
        PATH: process.env.PATH,
        WAYMARK_DATA_DIR: dataDir,
        WAYMARK_DEMO_DATA: 'off',
        PORT: `${port}`,
        METRICS_PORT: `${metricsPort}`,
      },
    })
    onTestFinished(() => started.kill())
    return started
  }
  const takePort = async () => {
    const other = createServer().listen(0)
    await once(other, 'listening')
    return { other, port: (other.address() as AddressInfo).port }
  }
  const greetingOf = async (port: number): Promise<string> => {
    const { child, stdout, output, ended } = start(port)
    const greets = greeted({ stdout })
    await greets.catch((error) => {
      throw new Error(`It did not greet:\n${output()}`, { cause: error })
    })
    child.kill('SIGTERM')
    expect(await ended).toBe(0)
    return stdout()
  }

  it('shows the key once, and then its location', async () => {
    const port = await freePort()
    const first = await greetingOf(port)
    const file = path.join(dataDir, 'demo.json')
    const demo = JSON.parse(await readFile(file, 'utf8')) as Record<'apiKey' | 'email' | 'password', string>
    for (const shown of [demo.apiKey, demo.email, demo.password]) expect(first).toContain(shown)
    const second = await greetingOf(port)
    for (const secret of [demo.apiKey, demo.password]) expect(second).not.toContain(secret)
    expect(second).toContain(file)
    for (const said of [first, second]) expect(said).toContain(`http://localhost:${port}/console/`)
    for (const said of [first, second]) expect(said).toContain(`eval "$(npm run -s demo:env -- '${file}')"`)
  })

  it('shows the URL of metrics, or one line with the reason why there is none', async () => {
    const first = start(await freePort())
    await greeted(first)
    const [url = ''] = /http:\S+\/metrics(?=\n)/.exec(first.stdout()) ?? []
    const figures = await fetch(url)
    expect(figures.status).toBe(200)
    first.child.kill('SIGTERM')
    await first.ended

    const { other, port: metricsPort } = await takePort()
    onTestFinished(() => void other.close())
    const second = start(await freePort(), metricsPort)
    await greeted(second)
    second.child.kill('SIGTERM')
    expect(await second.ended).toBe(0)
    expect(second.output()).toContain(
      `Port ${metricsPort} for metrics is taken; starting without metrics. Set METRICS_PORT to another port.`,
    )
    expect(second.output()).not.toContain('    at ')
    expect(second.output()).not.toContain('EADDRINUSE')
  })

  it('is one line when the mail secret is invalid, and keeps the file', async () => {
    const file = path.join(dataDir, 'mail-secret')
    const before = await readFile(file, 'utf8')
    await writeFile(file, 'cut short')
    const { stdout, stderr, ended } = start(await freePort())
    expect(await ended).toBe(1)
    expect(stdout()).toBe('')
    expect(stderr()).toBe(
      `The configuration is not usable:\n  ${file} must hold one secret of 43 letters, digits, "-" or "_", but holds 9 ` +
        'characters: restore it from a backup, or delete it for a new secret; then unsubscribe links in sent emails ' +
        'stop working\n',
    )
    expect(await readFile(file, 'utf8')).toBe('cut short')
    await writeFile(file, before)
  })

  it('is one line when the port is taken', async () => {
    const { other, port } = await takePort()
    const { stdout, stderr, ended } = start(port)
    expect(await ended).toBe(1)
    expect(stdout()).toBe('')
    expect(stderr()).toBe(`Port ${port} is taken. Set PORT to another one.\n`)
    other.close()
  })
})
