import { startProcess } from '@waymark/testing/child-process'
import { describe, expect, it, onTestFinished } from 'vitest'

const HERE = import.meta.dirname

/**
 * Runs a process whose start is `body`, which may use `scope` and `say`. SIGTERM follows the output `now`, and further
 * ones until it has ended follow `repeatedly`.
 */
const run = async (body: string, level = 'silent', flags: string[] = []) => {
  const script = `
    import { runService } from '${HERE}/run-service.ts'
    import { ConfigError } from '${HERE}/config.ts'
    const say = (text) => process.stdout.write(text + '\\n')
    await runService('test', { LOG_LEVEL: '${level}' }, async ({ scope, signal }) => {
      const busy = setInterval(() => {}, 1_000)
      scope.onStop('busy', async () => clearInterval(busy))
      ${body}
    })`
  const args = [...flags, '--input-type=module', '--eval', script]
  // Settings such as NO_COLOR make Node.js itself write to standard error.
  const env = { NODE_COMPILE_CACHE: process.env.NODE_COMPILE_CACHE }
  const { child, ended, kill, stdout, stderr } = startProcess(process.execPath, args, { env })
  onTestFinished(kill)
  let signals: NodeJS.Timeout | undefined
  child.stdout.on('data', (text: string) => {
    if (text.includes('now')) child.kill('SIGTERM')
    if (text.includes('repeatedly')) signals = setInterval(() => child.kill('SIGTERM'), 1)
  })
  const code = await ended.finally(() => clearInterval(signals))
  return { code, output: stdout().trim().split('\n'), errors: stderr() }
}

describe('a service', () => {
  it('is shut down by a SIGTERM and exits with 0', async () => {
    const { code, output } = await run(`
      scope.onStop('first', async () => say('first undone'))
      scope.onStop('second', async () => say('second undone'))
      say('now')`)
    expect(output).toEqual(['now', 'second undone', 'first undone'])
    expect(code).toBe(0)
  })

  it('exits with 0 when signals arrive until it has ended', async () => {
    const { code, output } = await run(`
      scope.onStop('part', async () => say('undone'))
      say('repeatedly')`)
    expect(output).toEqual(['repeatedly', 'undone'])
    expect(code).toBe(0)
  })

  it('releases the memory of its start', async () => {
    const body = `
      const heap = () => process.memoryUsage().heapTotal / 1_048_576
      let made = Array.from({ length: 1_000_000 }, (_, n) => ({ n }))
      say(heap() > 50)
      made = undefined
      const check = () => { if (heap() < 25) { say('released'); say('now') } else setTimeout(check, 20) }
      check()`
    const { output } = await run(body, 'silent', ['--expose-gc'])
    expect(output).toEqual(['true', 'released', 'now'])
  })

  it('that is stopped while it starts is shut down as well', async () => {
    const { code, output } = await run(`
      const signaled = new Promise((resolve) => process.once('SIGTERM', resolve))
      say('now')
      await signaled
      const server = setInterval(() => {}, 1_000)
      scope.onStop('server', async () => { clearInterval(server); say('undone') })`)
    expect(output).toEqual(['now', 'undone'])
    expect(code).toBe(0)
  })

  it('that is stopped while its start waits does not delay the exit', async () => {
    const { code, output } = await run(`
      const { setTimeout: sleep } = await import('node:timers/promises')
      scope.onStop('part', async () => say('undone'))
      say('now')
      await sleep(60_000, undefined, { signal })`)
    expect(output).toEqual(['now', 'undone'])
    expect(code).toBe(1)
  })

  it('reports a data directory that is in use in one line', async () => {
    const { code, errors } = await run(
      `throw Object.assign(new Error('The data directory x is in use'), { code: 'DATA_DIR_IN_USE' })`,
    )
    expect(errors).toBe('The data directory x is in use\n')
    expect(code).toBe(1)
  })

  it('reports a port that is in use on standard error, in one line', async () => {
    const { code, errors } = await run(`
      const { createServer } = await import('node:net')
      const first = createServer().listen(0)
      await new Promise((resolve) => first.once('listening', resolve))
      scope.onStop('first', async () => first.close())
      const { port } = first.address()
      await new Promise((resolve, reject) => createServer().once('error', reject).listen(port))`)
    expect(errors).toMatch(/^Port \d+ is taken\. Set PORT to another one\.\n$/)
    expect(code).toBe(1)
  })

  it.each([
    ['fails to start', "throw new Error('no database')"],
    ['fails later', "setImmediate(() => { throw new Error('a bug') })"],
    [
      'rejects a promise without a handler while it starts',
      "void Promise.reject(new Error('a bug')); await new Promise(setImmediate)",
    ],
  ])('that %s is shut down and exits with 1', async (_, body) => {
    const { code, output } = await run(`scope.onStop('part', async () => say('undone')); ${body}`)
    expect(output).toEqual(['undone'])
    expect(code).toBe(1)
  })

  it('goes on after a rejection without a handler, which it logs and counts and answers with 500', async () => {
    const { code, output } = await run(
      `
      const { startService } = await import('${HERE}/start-service.ts')
      const { route } = await import('${HERE}/http/router.ts')
      const { Registry } = await import('prom-client')
      const log = { debug() {}, info() {}, warn() {}, error() {} }
      const metrics = new Registry()
      const routes = [
        route({ method: 'get', path: '/bug' }, () => {
          void Promise.reject(new Error('a bug'))
          return new Promise(() => {})
        }),
        route({ method: 'get', path: '/other' }, () => ({ body: 'other' })),
      ]
      const http = { port: 0, metricsPort: 0, trustedProxies: 0 }
      const { port } = await startService({ routes }, http, { log, metrics, tracer: undefined }, scope)
      setImmediate(async () => {
        for (const path of ['bug', 'other']) {
          const response = await fetch('http://127.0.0.1:' + port + '/' + path)
          say(response.status + ' ' + (await response.text()))
        }
        const counted = await metrics.getSingleMetricAsString('waymark_unhandled_rejections_total')
        say(counted.split('\\n').at(-1))
        say('now')
      })`,
      'error',
    )
    expect(output).toEqual([
      expect.stringContaining('"msg":"Unhandled rejection"'),
      '500 {"error":"Internal error"}',
      '200 "other"',
      'waymark_unhandled_rejections_total 1',
      'now',
    ])
    expect(code).toBe(0)
  })

  it('reports invalid configuration as plain text', async () => {
    const { code, errors } = await run("throw new ConfigError(['PORT must be integer'])")
    expect(errors).toBe('The configuration is not usable:\n  PORT must be integer\n')
    expect(code).toBe(1)
  })

  it('reports an unknown log level, and does not start', async () => {
    const { code, output, errors } = await run("say('started')", 'chatty')
    expect(errors).toContain('LOG_LEVEL')
    expect(output).toEqual([''])
    expect(code).toBe(1)
  })
})
