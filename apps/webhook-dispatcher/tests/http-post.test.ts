import { createServer } from 'node:net'
import { MAX_WEBHOOK_RESPONSE_BYTES } from '@waymark/contracts/webhook'
import type { ResolveHost } from '@waymark/service-kit'
import { eventually } from '@waymark/testing'
import { afterEach, describe, expect, it } from 'vitest'
import { createHttpPost } from '../src/http-post.ts'
import { type Answer, hang, type Receiver, reset, startReceiver, status } from './receiver.ts'

const PUBLIC = '93.184.215.14'
const REFUSED = { kind: 'unanswered', error: expect.stringMatching(/private, loopback/) }

describe('a request to an endpoint', () => {
  const cleanUps: (() => Promise<unknown>)[] = []
  afterEach(async () => {
    for (const cleanUp of cleanUps.splice(0).reverse()) await cleanUp()
  })

  const start = async (answer?: Answer): Promise<Receiver> => {
    const receiver = await startReceiver(answer)
    cleanUps.push(receiver.stop)
    return receiver
  }
  const poster = (options: { allow?: boolean; resolveHost?: ResolveHost; timeoutMs?: number } = {}) => {
    const { allow = true, resolveHost = async () => ['127.0.0.1'], timeoutMs = 60_000 } = options
    const http = createHttpPost({ allowPrivateAddresses: allow, timeoutMs, resolveHost })
    cleanUps.push(http.close)
    return (url: string) => http.post({ url, headers: { 'Content-Type': 'application/json' }, body: '{}' })
  }

  it('arrives with its body, and the answer is returned', async () => {
    const { port, received } = await start()
    expect(await poster()(`http://shop.example:${port}/hook?a=b`)).toEqual({
      kind: 'answered',
      status: 200,
      body: 'thanks',
    })
    expect(received).toMatchObject([
      { text: '{}', headers: { host: `shop.example:${port}`, 'content-type': 'application/json' } },
    ])
  })

  it.each([['HTTP/1.1 101 Switching Protocols\r\nConnection: Upgrade\r\nUpgrade: x\r\n\r\n'], ['']])(
    'ends when the endpoint answers %j and closes',
    async (answer) => {
      const server = createServer((socket) => {
        socket.on('error', () => {})
        socket.once('data', () => socket.end(answer))
      })
      await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve))
      cleanUps.push(async () => server.close())
      const { port } = server.address() as { port: number }
      expect(await poster()(`http://shop.example:${port}`)).toMatchObject({ kind: 'unanswered' })
    },
  )

  it.each([
    '127.0.0.1',
    '10.0.0.1',
    '169.254.169.254',
    '192.168.1.1',
    '::1',
    'fe80::1',
    'fd00::1',
    '::ffff:127.0.0.1',
  ])('is refused when the name resolves to %s', async (address) => {
    const { port, received } = await start()
    expect(
      await poster({ allow: false, resolveHost: async () => [address] })(`http://shop.example:${port}`),
    ).toEqual(REFUSED)
    expect(received).toEqual([])
  })

  it('is refused when one of several addresses is private', async () => {
    const { port, received } = await start()
    const resolveHost = async () => [PUBLIC, '127.0.0.1']
    expect(await poster({ allow: false, resolveHost })(`http://shop.example:${port}`)).toEqual(REFUSED)
    expect(received).toEqual([])
  })

  it.each([
    '127.0.0.1',
    '[::1]',
    '[::ffff:127.0.0.1]',
    '2130706433',
    '0x7f.1',
    '0177.0.0.1',
    '127.1',
    '0.0.0.0',
  ])('is refused for the address %s without a DNS look-up', async (host) => {
    const { port, received } = await start()
    const resolveHost = async () => {
      throw new Error('an address is not looked up')
    }
    expect(await poster({ allow: false, resolveHost })(`http://${host}:${port}`)).toEqual(REFUSED)
    expect(received).toEqual([])
  })

  it('does not reach loopback by a name that is public at first and loopback the second time', async () => {
    const { port, received } = await start()
    let lookups = 0
    const resolveHost = async () => {
      lookups += 1
      return lookups === 1 ? [PUBLIC] : ['127.0.0.1']
    }
    const post = poster({ allow: false, resolveHost, timeoutMs: 500 })
    const first = await post(`http://rebinding.example:${port}`)
    // The connection went to the address that was checked, which does not answer here.
    expect(first).toMatchObject({ kind: 'unanswered' })
    expect(first).not.toEqual(REFUSED)
    expect(lookups).toBe(1)
    expect(await post(`http://rebinding.example:${port}`)).toEqual(REFUSED)
    expect(lookups).toBe(2)
    expect(received).toEqual([])
  })

  it('does not follow a redirect', async () => {
    const target = await start()
    const { port } = await start(status(307, { Location: target.url }))
    expect(await poster()(`http://shop.example:${port}`)).toMatchObject({ kind: 'answered', status: 307 })
    expect(target.received).toEqual([])
  })

  it('fails when nothing is answered in time, and when the connection breaks off', async () => {
    const silent = await start(hang)
    expect(await poster({ timeoutMs: 300 })(`http://shop.example:${silent.port}`)).toEqual({
      kind: 'unanswered',
      error: 'no answer within 0.3 s',
    })
    const broken = await start(reset)
    expect(await poster()(`http://shop.example:${broken.port}`)).toEqual({
      kind: 'unanswered',
      error: 'the connection failed: ECONNRESET',
    })
    await broken.stop()
    expect(await poster()(`http://shop.example:${broken.port}`)).toMatchObject({
      error: 'the connection failed: ECONNREFUSED',
    })
  })

  it('fails when the name does not exist', async () => {
    const resolveHost = async () => {
      throw Object.assign(new Error('not found'), { code: 'ENOTFOUND' })
    }
    expect(await poster({ resolveHost })('http://nowhere.example')).toEqual({
      kind: 'unanswered',
      error: 'the connection failed: ENOTFOUND',
    })
  })

  it('says the same of a name that does not exist, does not resolve or leads to a private address', async () => {
    const fail = (code: string) => async () => {
      throw Object.assign(new Error(code), { code })
    }
    const resolvers: ResolveHost[] = [
      async () => ['10.0.0.1'],
      async () => [],
      fail('ENOTFOUND'),
      fail('ENODATA'),
      fail('ESERVFAIL'),
      fail('ETIMEOUT'),
    ]
    const outcomes = await Promise.all(
      resolvers.map((resolveHost) => poster({ allow: false, resolveHost })('http://db.internal')),
    )
    expect(outcomes).toEqual(resolvers.map(() => REFUSED))
    expect(new Set(outcomes.map((outcome) => JSON.stringify(outcome))).size).toBe(1)
  })

  it.each([MAX_WEBHOOK_RESPONSE_BYTES - 1, MAX_WEBHOOK_RESPONSE_BYTES, MAX_WEBHOOK_RESPONSE_BYTES + 1])(
    'keeps at most 2 KiB of an answer of %i bytes',
    async (bytes) => {
      const { port } = await start((response) => void response.end('x'.repeat(bytes)))
      const outcome = await poster()(`http://shop.example:${port}`)
      expect(outcome).toEqual({
        kind: 'answered',
        status: 200,
        body: 'x'.repeat(Math.min(bytes, MAX_WEBHOOK_RESPONSE_BYTES)),
      })
    },
  )

  it('stops reading an endless answer, and leaves out half a character and U+0000', async () => {
    const { port } = await start((response) => {
      const more = () => response.write('y'.repeat(1_000), () => response.writable && setImmediate(more))
      response.write(`\0${'x'.repeat(MAX_WEBHOOK_RESPONSE_BYTES - 2)}é`)
      more()
    })
    expect(await poster()(`http://shop.example:${port}`)).toEqual({
      kind: 'answered',
      status: 200,
      body: `\uFFFD${'x'.repeat(MAX_WEBHOOK_RESPONSE_BYTES - 2)}`,
    })
  })

  it('counts as answered when the status arrives and the body does not end', async () => {
    const { port } = await start((response) => void response.writeHead(200).write('begun'))
    const post = poster({ timeoutMs: 500 })
    // A busy machine may be late with the status.
    const outcome = await eventually('the status arrives in time', async () => {
      const one = await post(`http://shop.example:${port}`)
      return one.kind === 'answered' && one
    })
    expect(outcome).toEqual({ kind: 'answered', status: 200, body: 'begun' })
  })
})
