import { mkdtemp, stat } from 'node:fs/promises'
import { createServer } from 'node:http'
import type { AddressInfo } from 'node:net'
import { tmpdir } from 'node:os'
import path from 'node:path'
import { text } from 'node:stream/consumers'
import { afterAll, describe, expect, it } from 'vitest'
import { demoInFile, demoInSecret } from './demo-store.ts'

describe('demo.json in a file', () => {
  it('is read as it was written, and readable by its owner only', async () => {
    const file = path.join(await mkdtemp(path.join(tmpdir(), 'demo-')), 'demo.json')
    const store = demoInFile(file)
    expect(await store.read()).toBeUndefined()
    await store.write('one')
    await store.write('two')
    expect(await store.read()).toBe('two')
    expect((await stat(file)).mode & 0o777).toBe(0o600)
  })
})

describe('demo.json in a Secret', async () => {
  type Secret = { metadata: { name: string }; stringData: Record<string, string> }
  const kept = new Map<string, Secret>()
  const asked: string[] = []
  /** A fake API server with the Secrets of one namespace, for requests with the token. */
  const server = createServer(async (req, res) => {
    asked.push(`${req.method} ${req.url}`)
    if (req.headers.authorization !== 'Bearer token') return void res.writeHead(403).end()
    const name = req.url?.match(/^\/api\/v1\/namespaces\/waymark\/secrets\/([^/]+)$/)?.[1]
    const body = await text(req)
    if (req.method === 'POST') {
      const secret = JSON.parse(body) as Secret
      kept.set(secret.metadata.name, secret)
      return void res.writeHead(201).end(body)
    }
    const found = kept.get(name ?? '')
    if (!found) return void res.writeHead(404).end('{}')
    if (req.method === 'PUT') kept.set(name ?? '', JSON.parse(body))
    const [[key, value] = []] = Object.entries(found.stringData)
    res.end(JSON.stringify({ data: { [`${key}`]: Buffer.from(`${value}`).toString('base64') } }))
  }).listen(0)
  afterAll(() => void server.close())
  const url = `http://127.0.0.1:${(server.address() as AddressInfo).port}`
  const api = { url, token: 'token', namespace: 'waymark' }

  it('is created once and replaced afterwards', async () => {
    const store = demoInSecret('waymark-demo', api)
    expect(await store.read()).toBeUndefined()
    await store.write('{"ä":1}')
    expect(await store.read()).toBe('{"ä":1}')
    await store.write('two')
    expect(await store.read()).toBe('two')
    expect(asked.filter((line) => line.startsWith('POST'))).toHaveLength(1)
  })

  it('is an error when the service account lacks the permission', async () => {
    const store = demoInSecret('waymark-demo', { ...api, token: 'wrong' })
    await expect(store.read()).rejects.toThrow('403')
    await expect(store.write('x')).rejects.toThrow('403')
  })
})
