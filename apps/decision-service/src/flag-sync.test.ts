import type { ApiKey } from '@waymark/project-config'
import { Registry } from 'prom-client'
import { describe, expect, it } from 'vitest'
import type { FlagDocument } from './flag-documents.ts'
import { createFlagSync } from './flag-sync.ts'
import { lengthDelimited, textsIn } from './grpc-messages.ts'
import type { GrpcReply } from './grpc-server.ts'

const key = (more: Partial<ApiKey> = {}): ApiKey => ({
  id: 'key',
  tenantId: 't',
  projectId: 'p',
  kind: 'sec',
  scopes: ['decide'],
  validationMode: null,
  allowedOrigins: [],
  requestsPerMinute: null,
  environment: 'production',
  ...more,
})
const documentOf = (text: string): FlagDocument => ({
  etag: text,
  json: Buffer.from(text),
  message: Buffer.from(text),
  decisionIds: [text],
})
/** A client. It accepts what it gets unless `waiting` is set. */
const clientOf = () => {
  const state = { frames: [] as Buffer[], ended: [] as unknown[], destroyed: false, waiting: 0 }
  const listeners: (() => void)[] = []
  const close = () => {
    for (const listener of listeners.splice(0)) listener()
  }
  const reply: GrpcReply = {
    send: (frame) => state.frames.push(frame),
    end: (...args) => {
      state.ended.push(args)
      close()
    },
    destroy: () => {
      state.destroyed = true
      close()
    },
    get waiting() {
      return state.waiting
    },
    onClose: (listener) => listeners.push(listener),
  }
  return Object.assign(state, { reply, close, texts: () => state.frames.map(String) })
}

const start = (limits = {}) => {
  const world = {
    now: 0,
    document: documentOf('first'),
    keys: new Map([['secret', key()]]),
    noted: [] as string[],
  }
  const sync = createFlagSync({
    apiKeys: { authenticate: async (given: string) => world.keys.get(given) ?? null },
    readDocument: async () => world.document,
    limitRequests: async () => {},
    noteEvaluated: (id: string) => world.noted.push(id),
    limits: { syncTotal: 2_000, syncPerProject: 2_000, syncPerKey: 2_000, ...limits },
    metrics: new Registry(),
    steadyClock: () => world.now,
  } as unknown as Parameters<typeof createFlagSync>[0])
  const call = async (method: string, selector = 'secret') => {
    const client = clientOf()
    const message = lengthDelimited(2, Buffer.from(selector))
    await sync.methods.get(`/flagd.sync.v1.FlagSyncService/${method}`)?.(
      { metadata: {}, message, ip: '' },
      client.reply,
    )
    return client
  }
  const look = () => sync.loop.run(new AbortController().signal)
  return { world, call, look }
}

describe('streams of flag definitions', () => {
  it('send the same bytes to 1,000 clients, at the start and after a change', async () => {
    const { world, call, look } = start()
    const clients = await Promise.all(Array.from({ length: 1_000 }, () => call('SyncFlags')))
    await look()
    world.document = documentOf('second')
    await look()
    await look()
    expect(new Set(clients.flatMap(({ frames }) => frames)).size).toBe(2)
    for (const { texts } of clients) expect(texts()).toEqual(['first', 'second'])
  })

  it('send a client that is slow the newest definitions once it accepts them, and else end', async () => {
    const { world, call, look } = start()
    const [slow, stuck] = [await call('SyncFlags'), await call('SyncFlags')]
    slow.waiting = 1
    stuck.waiting = 1
    for (const text of ['second', 'third']) {
      world.document = documentOf(text)
      await look()
    }
    slow.waiting = 0
    world.now = 59_999
    await look()
    expect([slow.texts(), stuck.destroyed]).toEqual([['first', 'third'], false])
    world.now = 60_000
    await look()
    expect([slow.destroyed, stuck.destroyed]).toEqual([false, true])
  })

  it('end when their key is revoked', async () => {
    const { world, call, look } = start()
    const client = await call('SyncFlags')
    world.keys.clear()
    world.now = 3_000
    await look()
    expect(client.ended).toMatchObject([[16, expect.any(String)]])
  })

  it('are limited by key and by project, and free their places', async () => {
    const { world, call } = start({ syncPerKey: 1, syncPerProject: 2 })
    world.keys.set('other', key({ id: 'other' })).set('third', key({ id: 'third' }))
    const first = await call('SyncFlags')
    await expect(call('SyncFlags')).rejects.toMatchObject({ code: 'rate_limited' })
    const second = await call('SyncFlags', 'other')
    await expect(call('SyncFlags', 'third')).rejects.toMatchObject({ code: 'rate_limited' })
    first.close()
    second.close()
    await call('SyncFlags')
    await call('SyncFlags', 'third')
  })

  it('are for keys of servers with the scope decide', async () => {
    const { world, call } = start()
    world.keys.set('browser', key({ kind: 'pub' })).set('other', key({ scopes: ['links:read'] }))
    for (const method of ['SyncFlags', 'FetchAllFlags']) {
      await expect(call(method, 'unknown')).rejects.toMatchObject({ code: 'unauthorized' })
      await expect(call(method, 'browser')).rejects.toMatchObject({ code: 'forbidden' })
      await expect(call(method, 'other')).rejects.toMatchObject({ code: 'forbidden' })
    }
    expect((await call('FetchAllFlags')).texts()).toEqual(['first'])
    expect((await call('GetMetadata', '')).frames).toEqual([Buffer.of(0, 0, 0, 0, 2, 0x12, 0)])
  })

  it('count as evaluations of their decisions', async () => {
    const { world, call, look } = start()
    await call('SyncFlags')
    world.now = 3_000
    await look()
    expect(world.noted).toEqual(['first', 'first'])
  })
})

describe('a message', () => {
  it('has the texts of its fields, among others', () => {
    const long = 'x'.repeat(300)
    const message = Buffer.concat([
      Buffer.of(0x18, 0x96, 0x01),
      lengthDelimited(1, Buffer.from('a')),
      Buffer.of(0x21, 0, 0, 0, 0, 0, 0, 0, 0),
      lengthDelimited(2, Buffer.from(long)),
    ])
    expect(textsIn(message)).toEqual(
      new Map([
        [1, 'a'],
        [2, long],
      ]),
    )
    for (const broken of [Buffer.of(0x0a, 5, 1), Buffer.of(0x0b), Buffer.of(0x80)])
      expect(() => textsIn(broken)).toThrow('The message')
  })
})
