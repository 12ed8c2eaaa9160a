import { spawnSync } from 'node:child_process'
import { cp, mkdtemp, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import path from 'node:path'
import RudderAnalytics from '@rudderstack/rudder-sdk-node'
import { Analytics } from '@segment/analytics-node'
import { type Constellation, startProcess, startStandalone } from '@waymark/testing'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { type FlakyProxy, startFlakyProxy } from './sdks/flaky-proxy.ts'
import { CALLS, expectMerged, expectStoredOnce } from './sdks/stored-calls.ts'

const PROGRAMS = path.join(import.meta.dirname, 'sdks')

/** Whether a tool is there. In CI it must be, because no test may be left out there. */
const requireTool = (name: string, args: string[]): boolean => {
  const found = spawnSync(name, args).status === 0
  if (!found && process.env.CI) throw new Error(`${name} is missing, and in CI no test may be left out`)
  if (!found) process.stdout.write(`${name} is missing: the test of its SDK is left out.\n`)
  return found
}
const hasPython = requireTool('python3', ['-c', 'import ensurepip, venv'])
const hasGo = requireTool('go', ['version'])

/** Runs a command to its end. @throws Error with what it has written when it fails */
const run = async (command: string, args: readonly string[], cwd: string, env = {}): Promise<void> => {
  const { output, ended } = startProcess(command, args, { cwd, env: { ...process.env, ...env } })
  const code = await ended
  if (code !== 0) throw new Error(`${[command, ...args].join(' ')} ended with ${code}:\n${output()}`)
}

// Each SDK is as its maker published it: only its host and key are changed, and sizes of batches.
describe('an SDK of Segment’s protocol stores each call once, though an answer is lost and a request refused', () => {
  let waymark: Constellation
  let url: string
  let folder: string
  const proxies: FlakyProxy[] = []

  beforeAll(async () => {
    folder = await mkdtemp(path.join(tmpdir(), 'waymark-sdks-'))
    waymark = await startStandalone()
    url = (await waymark.request('/healthz')).url.replace('/healthz', '')
  })
  afterAll(async () => {
    for (const proxy of proxies) proxy.stop()
    await waymark?.stop()
    await rm(folder, { recursive: true, force: true })
  })

  const startProxy = async (): Promise<FlakyProxy> => {
    const proxy = await startFlakyProxy(url)
    proxies.push(proxy)
    return proxy
  }
  const expectAll = async (proxy: FlakyProxy, name: string): Promise<void> => {
    expect(proxy.faults).toEqual(['lose the answer', '503'])
    await expectStoredOnce(waymark, name)
    await expectMerged(waymark, name)
  }

  it('@segment/analytics-node', async () => {
    const proxy = await startProxy()
    const name = 'segment-node'
    const analytics = new Analytics({ writeKey: waymark.apiKey, host: proxy.url, flushAt: CALLS / 2 })
    const errors: unknown[] = []
    analytics.on('error', (error) => errors.push(error))
    for (let n = 0; n < CALLS; n++) {
      const [userId, anonymousId] = [`${name}-user-${n}`, `${name}-visitor-${n}`]
      const properties = { run: name, n }
      analytics.track({ event: 'sdk_track', anonymousId, properties })
      analytics.page({ name: 'Sale', anonymousId, properties })
      analytics.screen({ name: 'Sale', anonymousId, properties })
      analytics.identify({ userId, anonymousId, traits: { n } })
      analytics.group({ userId, groupId: 'acme', traits: properties })
      analytics.alias({ previousId: `${name}-previous-${n}`, userId })
    }
    await analytics.flush({ close: true, timeout: 60_000 })
    expect(errors).toEqual([])
    await expectAll(proxy, name)
  })

  it('@rudderstack/rudder-sdk-node', async () => {
    const proxy = await startProxy()
    const name = 'rudderstack-node'
    const client = new RudderAnalytics(waymark.apiKey, {
      dataPlaneUrl: proxy.url,
      flushAt: CALLS / 2,
      maxInternalQueueSize: 6 * CALLS,
    })
    for (let n = 0; n < CALLS; n++) {
      const [userId, anonymousId] = [`${name}-user-${n}`, `${name}-visitor-${n}`]
      const properties = { run: name, n }
      client.track({ event: 'sdk_track', anonymousId, properties })
      client.page({ name: 'Sale', anonymousId, properties })
      client.screen({ name: 'Sale', anonymousId, properties })
      client.identify({ userId, anonymousId, traits: { n } })
      client.group({ userId, groupId: 'acme', traits: properties })
      client.alias({ previousId: `${name}-previous-${n}`, userId })
      // It measures its whole queue at each call.
      if (n % 40 === 39) await client.flush()
    }
    await client.flush()
    await expectAll(proxy, name)
  })

  it.skipIf(!hasPython)('segment-analytics-python', async () => {
    const proxy = await startProxy()
    await run('python3', ['-m', 'venv', 'venv'], folder)
    const python = path.join(folder, 'venv/bin/python')
    const requirements = path.join(PROGRAMS, 'requirements.txt')
    await run(python, ['-m', 'pip', 'install', '--quiet', '--requirement', requirements], folder)
    const args = [proxy.url, waymark.apiKey, 'segment-python', `${CALLS}`]
    await run(python, [path.join(PROGRAMS, 'program.py'), ...args], folder)
    await expectAll(proxy, 'segment-python')
  })

  it.skipIf(!hasGo)('github.com/segmentio/analytics-go', async () => {
    const proxy = await startProxy()
    const cwd = path.join(folder, 'go')
    await cp(path.join(PROGRAMS, 'go'), cwd, { recursive: true })
    await run('go', ['build', '-o', 'program', '.'], cwd, { CGO_ENABLED: '0' })
    const args = [proxy.url, waymark.apiKey, 'segment-go', `${CALLS}`]
    await run(path.join(cwd, 'program'), args, cwd)
    await expectAll(proxy, 'segment-go')
  })
})
