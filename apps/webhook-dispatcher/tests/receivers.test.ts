import { spawnSync } from 'node:child_process'
import { cp, mkdtemp, readFile, rm, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import path from 'node:path'
import { generateWebhookSecret } from '@waymark/domain/webhook'
import {
  createMemoryLog,
  eventually,
  extent,
  freePort,
  runCommand,
  startProcess,
  type TestProcess,
} from '@waymark/testing'
import { v7 as uuidv7 } from 'uuid'
import { afterEach, describe, expect, it } from 'vitest'
import type { ClaimedDelivery, Settlement } from '../src/delivery-queue-queries.ts'
import { createHttpPost } from '../src/http-post.ts'
import { createSendDeliveries } from '../src/send-deliveries.ts'
import { RETRY } from './harness.ts'

const ROOT = path.resolve(import.meta.dirname, '../../..')
const REQUIREMENTS = path.join(import.meta.dirname, 'receivers-requirements.txt')

/** Whether receivers are tested that are downloaded and built first. `npm run test:chaos` does. */
const BUILDS = extent(false, true)
const hasPython = spawnSync('python3', ['-c', 'import ensurepip, venv']).status === 0
const MISSING = 'python3 with venv is missing'
if (BUILDS && !hasPython && process.env.CI) throw new Error(`${MISSING}, and in CI no test may be left out`)
if (BUILDS && !hasPython) process.stdout.write(`${MISSING}: the test of a receiver in Python is left out.\n`)

/** Go compiles the library of Standard Webhooks from 1.21 on; older distributions have older ones. */
const goVersion = /go1\.(\d+)/.exec(spawnSync('go', ['version']).stdout?.toString() ?? '')?.[1]
if (BUILDS && goVersion === undefined && process.env.CI)
  throw new Error('go is missing, and in CI no test may be left out')
const hasGo = Number(goVersion ?? 0) >= 21
if (BUILDS && !hasGo)
  process.stdout.write('Go 1.21 or newer is missing: the test of a receiver in Go is left out.\n')

/** The code of a language in docs/webhooks.md. */
const documented = async (language: string): Promise<string> => {
  const page = await readFile(path.join(ROOT, 'docs/webhooks.md'), 'utf8')
  const code = new RegExp(`\`\`\`${language}\n([^]*?)\n\`\`\``).exec(page)?.[1]
  if (code === undefined) throw new Error(`docs/webhooks.md has no receiver in ${language}`)
  return code
}

/** Sends one delivery as the dispatcher does, and resolves to its outcome. */
const send = async (url: string, secrets: string[], payload: string): Promise<Settlement | undefined> => {
  const delivery: ClaimedDelivery = {
    id: uuidv7(),
    token: uuidv7(),
    webhookId: uuidv7(),
    orderingKey: null,
    topic: 'event',
    test: true,
    payload,
    attempts: 0,
    queuedAt: new Date(),
    url,
    secrets,
    webhookVersion: 1,
  }
  const waiting = [delivery]
  let settled: Settlement | undefined
  const http = createHttpPost({ allowPrivateAddresses: true, timeoutMs: 60_000 })
  const run = createSendDeliveries({
    queue: {
      claim: async () => waiting.splice(0),
      isCurrent: async () => true,
      settle: async (_, settlement) => {
        settled = settlement
        return undefined
      },
      release: async () => {},
    },
    post: http.post,
    maxInFlight: 1,
    retry: RETRY,
    log: createMemoryLog(),
    now: Date.now,
  })
  await run(new AbortController().signal)
  await http.close()
  return settled
}

describe('a receiver of the documentation', () => {
  const cleanUps: (() => Promise<unknown>)[] = []
  afterEach(async () => {
    for (const cleanUp of cleanUps.splice(0).reverse()) await cleanUp()
  })

  const start = async (command: string, args: readonly string[]) => {
    // The examples listen at the given port and print nothing.
    const port = await freePort()
    const secret = generateWebhookSecret()
    const env = { PATH: process.env.PATH, PORT: `${port}`, WEBHOOK_SECRET: secret }
    const receiver: TestProcess = startProcess(command, args, { cwd: import.meta.dirname, env })
    cleanUps.push(() => receiver.kill())
    const url = `http://localhost:${port}/waymark`
    await eventually(
      'it answers',
      async () => (await send(url, [secret], '{"ready":true}'))?.responseStatus ?? undefined,
    )
    return { receiver, secret, url }
  }
  const expectVerification = async ({ receiver, secret, url }: Awaited<ReturnType<typeof start>>) => {
    const payload = '{"type":"event","data":{"eventName":"order ✓"}}'
    expect(await send(url, [generateWebhookSecret()], payload)).toMatchObject({
      status: 'failed',
      responseStatus: 400,
    })
    expect(receiver.stdout()).not.toContain('order ✓')
    expect(await send(url, [secret], payload)).toMatchObject({ status: 'delivered' })
    expect(await send(url, [generateWebhookSecret(), secret], payload)).toMatchObject({ status: 'delivered' })
    await eventually('the message is printed', () => receiver.stdout().includes('order ✓'))
    // It arrives in several pieces, most of which end within a character.
    const long = JSON.stringify({ type: 'event', data: { text: '✓'.repeat(100_000) } })
    expect(await send(url, [secret], long)).toMatchObject({ status: 'delivered' })
  }

  it('in Node.js verifies what the dispatcher sends', async () => {
    await expectVerification(
      await start(process.execPath, ['--input-type=module', '--eval', await documented('js')]),
    )
  })

  if (!BUILDS) return

  it.skipIf(!hasGo)('in Go verifies what the dispatcher sends', async () => {
    const folder = await mkdtemp(path.join(tmpdir(), 'waymark-receiver-'))
    cleanUps.push(() => rm(folder, { recursive: true, force: true }))
    await cp(path.join(import.meta.dirname, 'go'), folder, { recursive: true })
    await writeFile(path.join(folder, 'main.go'), await documented('go'))
    await runCommand('go', ['build', '-o', 'receiver', '.'], { cwd: folder, env: { CGO_ENABLED: '0' } })
    await expectVerification(await start(path.join(folder, 'receiver'), []))
  })

  it.skipIf(!hasPython)('in Python verifies what the dispatcher sends', async () => {
    const folder = await mkdtemp(path.join(tmpdir(), 'waymark-receiver-'))
    cleanUps.push(() => rm(folder, { recursive: true, force: true }))
    await runCommand('python3', ['-m', 'venv', folder], { cwd: folder })
    const install = ['install', '--quiet', '--requirement', REQUIREMENTS]
    await runCommand(path.join(folder, 'bin/pip'), install, { cwd: folder })
    const python = path.join(folder, 'bin/python')
    await expectVerification(await start(python, ['-X', 'utf8', '-c', await documented('python')]))
  })
})
