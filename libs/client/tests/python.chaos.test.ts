import { spawnSync } from 'node:child_process'
import { mkdtemp, readdir, rm } from 'node:fs/promises'
import { createServer } from 'node:http'
import type { AddressInfo } from 'node:net'
import { tmpdir } from 'node:os'
import path from 'node:path'
import { type Constellation, eventually, ROOT, runCommand, startStandalone } from '@waymark/testing'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'

// The oldest version that openapi-python-client supports.
const USABLE_PYTHON = 'import sys, ensurepip, venv; sys.exit(sys.version_info < (3, 11))'
const hasPython = spawnSync('python3', ['-c', USABLE_PYTHON]).status === 0
const MISSING = 'python3 3.11 or newer with venv is missing'
if (!hasPython && process.env.CI) throw new Error(`${MISSING}, and in CI no test may be left out`)
if (!hasPython) process.stdout.write(`${MISSING}: the test of the Python package is left out.\n`)

// Long, because the package is generated, built and installed.
describe.skipIf(!hasPython)('the Python package', { timeout: 600_000 }, () => {
  let waymark: Constellation
  let folder: string
  let python: string

  beforeAll(async () => {
    waymark = await startStandalone()
    folder = await mkdtemp(path.join(tmpdir(), 'waymark-python-'))
    const client = path.join(ROOT, 'libs/client')
    await runCommand(process.execPath, [path.join(client, 'build-python.ts')], { cwd: client })
    await runCommand('python3', ['-m', 'venv', 'venv'], { cwd: folder })
    python = path.join(folder, 'venv/bin/python')
    const dist = path.join(client, 'python/dist')
    const wheel = (await readdir(dist)).find((name) => name.endsWith('.whl')) ?? ''
    await runCommand(python, ['-m', 'pip', 'install', '--quiet', path.join(dist, wheel)], { cwd: folder })
  })
  afterAll(async () => {
    await waymark?.stop()
    await rm(folder, { recursive: true, force: true })
  })

  it('works in an empty folder: typed calls and errors, waits after 429, and ids that make repeats safe', async () => {
    const url = (await waymark.request('/healthz')).url.replace('/healthz', '')
    const sent: { url: string; key: string | undefined; body: string }[] = []
    // Refuses the first request, and loses the answer of the second one.
    const proxy = createServer((request, response) => {
      const chunks: Buffer[] = []
      request.on('data', (chunk: Buffer) => chunks.push(chunk))
      request.on('end', async () => {
        const body = Buffer.concat(chunks)
        const key = request.headers['idempotency-key'] as string | undefined
        sent.push({ url: request.url ?? '', key, body: body.toString() })
        if (sent.length === 1)
          return response.writeHead(429, { 'Retry-After': '1' }).end('{"error":"slow down"}')
        const answer = await fetch(`${url}${request.url}`, {
          method: request.method ?? 'GET',
          headers: Object.fromEntries(
            ['authorization', 'content-type', 'idempotency-key'].flatMap((name) => {
              const value = request.headers[name]
              return typeof value === 'string' ? [[name, value]] : []
            }),
          ),
          ...(body.length > 0 && { body }),
        })
        if (sent.length === 2) return request.socket.destroy()
        const text = await answer.text()
        const id = answer.headers.get('x-request-id') ?? ''
        response
          .writeHead(answer.status, { 'Content-Type': 'application/json', 'X-Request-Id': id })
          .end(text)
      })
    }).listen(0)
    const { port } = proxy.address() as AddressInfo
    const program = path.join(import.meta.dirname, 'python/program.py')
    await runCommand(python, [program, `http://127.0.0.1:${port}`, waymark.apiKey], {
      cwd: folder,
    })
    proxy.close()

    const tracked = sent.filter((one) => one.url === '/api/v1/t')
    expect(tracked).toHaveLength(3)
    expect(new Set(tracked.map(({ body }) => JSON.parse(body).eventId)).size).toBe(1)
    expect(sent.find((one) => one.url === '/api/v1/coupons/redeem')?.key).toMatch(/^[\da-f-]{36}$/)
    await eventually('the event is stored once', async () => {
      const response = await waymark.request(`/api/projects/${waymark.projectId}/events?eventName=python`)
      return ((await response.json()) as { data: object[] }).data.length === 1
    })
  })
})
