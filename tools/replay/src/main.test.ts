import { mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { gzipSync } from 'node:zlib'
import { startProcess } from '@waymark/testing/child-process'
import { afterAll, afterEach, describe, expect, onTestFinished, test } from 'vitest'
import { type FakeWaymark, startFakeWaymark } from './fake-waymark.ts'

const main = fileURLToPath(new URL('main.ts', import.meta.url))
const oddLines = fileURLToPath(new URL('../fixtures/odd-lines.log', import.meta.url))
const folder = mkdtempSync(join(tmpdir(), 'replay-'))
const open: FakeWaymark[] = []
const start = async (...args: Parameters<typeof startFakeWaymark>) => {
  const server = await startFakeWaymark(...args)
  open.push(server)
  return server
}
afterEach(async () => {
  await Promise.all(open.splice(0).map((server) => server.close()))
})
afterAll(() => rmSync(folder, { recursive: true, force: true }))

const run = (args: string[], { input = '', env = {} }: { input?: string; env?: NodeJS.ProcessEnv } = {}) => {
  const { INIT_CWD: _npm, WAYMARK_DATA_DIR: _ours, ...inherited } = process.env
  const options = { cwd: folder, env: { ...inherited, ...env }, keepInputOpen: true }
  const { child, ended, kill, stdout, stderr } = startProcess(process.execPath, [main, ...args], options)
  onTestFinished(kill)
  child.stdin.end(input)
  return { child, ended: ended.then((code) => ({ code, stdout: stdout(), stderr: stderr() })) }
}
const writeDemo = (demo: unknown) => {
  const path = join(folder, 'demo.json')
  writeFileSync(path, JSON.stringify(demo))
  return path
}
const numbers = (stdout: string) =>
  Object.fromEntries(
    stdout
      .trim()
      .split('\n')
      .map((row) => row.split(/\s+/))
      .map(([name, value]) => [name, value?.replaceAll(',', '')]),
  )
const logOf = (count: number) =>
  Array.from(
    { length: count },
    (_, index) => `192.0.2.${index % 250} - - [-] "GET /${index} HTTP/1.1" 200 5\n`,
  ).join('')

test('sends each odd line once, for repeated and compressed files', async () => {
  const server = await start()
  const options = ['--url', server.url, '--key', 'k']
  const first = await run([oddLines, ...options]).ended
  expect(first).toMatchObject({ code: 0, stderr: 'skipped: not a log line: 43\n' })
  expect(first.stdout).not.toContain('incomplete')
  expect(numbers(first.stdout)).toMatchObject({
    lines: '43',
    sent: '42',
    accepted: '42',
    failed: '0',
    skipped: '1',
  })
  expect(server.stored.size).toBe(42)

  const log = logOf(250)
  writeFileSync(join(folder, 'a.log'), log)
  writeFileSync(join(folder, 'compressed.log'), gzipSync(log))
  expect((await run(['a.log', ...options]).ended).code).toBe(0)
  expect(server.stored.size).toBe(292)
  expect((await run(['compressed.log', '--sync', ...options]).ended).code).toBe(0)
  expect((await run(['-', ...options], { input: log }).ended).code).toBe(0)
  expect(server.stored.size).toBe(292)
})

test('reads address and key from demo.json, and resolves paths where npm was called', async () => {
  const server = await start()
  writeDemo({ baseUrl: server.url, apiKey: 'wm_sec_demo' })
  writeFileSync(join(folder, 'here.log'), logOf(3))
  const env = { INIT_CWD: folder, WAYMARK_DATA_DIR: folder }
  const ended = await run(['here.log', '--site', 'https://example.com/'], { env }).ended
  expect(ended.code).toBe(0)
  expect(server.seen[0]?.key).toBe('wm_sec_demo')
  expect(server.seen[0]?.events[2]).toMatchObject({
    properties: { url: 'https://example.com/2', path: '/2' },
  })
})

test('continues when the server is available again on another port', async () => {
  const half = Promise.withResolvers<void>()
  const first = await start((_, turn) => {
    if (turn <= 4) return 'accept'
    half.resolve()
    return undefined
  })
  writeDemo({ baseUrl: first.url, apiKey: 'old' })
  const { ended } = run(['-'], { input: logOf(1_000), env: { WAYMARK_DATA_DIR: folder } })
  await half.promise
  await first.close()
  const second = await start(({ key }) => (key === 'new' ? 'accept' : { status: 401, body: {} }), {
    stored: first.stored,
  })
  writeDemo({ baseUrl: second.url, apiKey: 'new' })
  const { code, stdout, stderr } = await ended
  expect(code).toBe(0)
  expect(numbers(stdout)).toMatchObject({ sent: '1000', accepted: '1000', failed: '0' })
  expect(stderr).toContain('waiting: 127.0.0.1')
  expect(second.stored.size).toBe(1_000)
})

test('ends with a partial summary when interrupted', async () => {
  const half = Promise.withResolvers<void>()
  const server = await start((_, turn) => {
    if (turn <= 2) return 'accept'
    half.resolve()
    return { status: 503, body: { error: 'QUEUE_UNAVAILABLE', retryAfter: 60 } }
  })
  // One at a time, so that it has both answers when it sends the third request.
  const args = ['-', '--url', server.url, '--key', 'k', '--concurrency', '1']
  const { child, ended } = run(args, { input: logOf(1_000) })
  await half.promise
  child.kill('SIGINT')
  // Like npm, which forwards a signal that the terminal has sent to all processes.
  child.kill('SIGINT')
  const { code, stdout, stderr } = await ended
  expect(code).toBe(130)
  expect(numbers(stdout)).toMatchObject({ sent: '200', accepted: '200' })
  expect(stdout).toContain('incomplete: interrupted by SIGINT')
  expect(stderr).toContain('run it again')
})

describe('exit code', () => {
  test('130 when signals arrive until the process has ended', async () => {
    const half = Promise.withResolvers<void>()
    const server = await start(() => {
      half.resolve()
      return { status: 503, body: { error: 'QUEUE_UNAVAILABLE', retryAfter: 60 } }
    })
    const { child, ended } = run(['-', '--url', server.url, '--key', 'k'], { input: logOf(1_000) })
    await half.promise
    const signals = setInterval(() => child.kill('SIGINT'), 1)
    const { code, stdout } = await ended.finally(() => clearInterval(signals))
    expect(code).toBe(130)
    expect(stdout).toContain('incomplete: interrupted by SIGINT')
  })

  test('0 with --help', async () => {
    const { code, stdout } = await run(['--help']).ended
    expect(code).toBe(0)
    expect(stdout).toContain('Usage: npm run replay')
  })

  test.each([
    [['--nonsense', 'a.log'], "Unknown option '--nonsense'"],
    [[], 'path of a log is missing'],
    [['a.log', 'b.log'], 'only one log can be given'],
    [['a.log', '--concurrency', '0'], '--concurrency must be an integer from 1 to 32'],
    [['a.log', '--url', 'localhost:3000'], '--url must be an address'],
    [['a.log', '--key'], "'--key <value>'"],
  ])('2 with %j', async (args, message) => {
    const { code, stderr, stdout } = await run(args).ended
    expect(code).toBe(2)
    expect(stderr).toContain(message)
    expect(stderr).toContain('Usage:')
    expect(stdout).toBe('')
  })

  test.each([
    [['-'], {}, 'no address and key in'],
    [['missing.log', '--url', 'http://127.0.0.1:9', '--key', 'k'], {}, 'ENOENT'],
    [[tmpdir(), '--url', 'http://127.0.0.1:9', '--key', 'k'], {}, 'is a folder'],
    [
      ['-', '--url', 'http://127.0.0.1:9', '--key', 'k'],
      { input: 'what\nis this\n' },
      'no line is in the common',
    ],
  ])('1 with %j', async (args, options, message) => {
    const { code, stderr } = await run(args, options).ended
    expect(code).toBe(1)
    expect(stderr).toContain(message)
  })

  test('1 when the key is refused, with the counts until then', async () => {
    const server = await start((_, turn) =>
      turn <= 1 ? 'accept' : { status: 401, body: { error: 'unauthorized' } },
    )
    const args = ['-', '--url', server.url, '--key', 'k', '--concurrency', '1']
    const { code, stderr, stdout } = await run(args, { input: logOf(1_000) }).ended
    expect(code).toBe(1)
    expect(stderr).toContain('replay: the API key is refused (401 unauthorized)')
    expect(stdout).toContain('incomplete: the API key is refused (401 unauthorized)')
    expect(numbers(stdout)).toMatchObject({ sent: '100', accepted: '100' })
  })

  test('1 when events failed, with the reason', async () => {
    const server = await start(() => ({
      status: 400,
      body: {
        error: 'no valid event',
        invalid: [{ index: 0, rawSample: '', reason: 'eventName is too long' }],
      },
    }))
    const { code, stderr, stdout } = await run(['-', '--url', server.url, '--key', 'k'], { input: logOf(1) })
      .ended
    expect(code).toBe(1)
    expect(stderr).toContain('failed: line 1: eventName is too long')
    expect(numbers(stdout)).toMatchObject({ failed: '1' })
  })
})
