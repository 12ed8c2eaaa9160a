import { AppError } from '@waymark/contracts/app-error'
import { defineOperation } from '@waymark/contracts/http/operation'
import type { Request, Response } from 'express'
import fc from 'fast-check'
import { Type } from 'typebox'
import { describe, expect, it } from 'vitest'
import {
  createRequest,
  requestHostOf,
  requireKnownQuery,
  unknownParameters,
  useTargetAsPath,
  withoutPort,
} from './request.ts'

describe('withoutPort', () => {
  it.each([
    ['1.2.3.4:5678', '1.2.3.4'],
    ['1.2.3.4', '1.2.3.4'],
    ['[::1]:80', '::1'],
    ['[2001:db8::7]', '2001:db8::7'],
    ['2001:db8::7', '2001:db8::7'],
    ['::ffff:1.2.3.4', '::ffff:1.2.3.4'],
    ['[::ffff:1.2.3.4]:443', '::ffff:1.2.3.4'],
    ['unknown', 'unknown'],
    ['1.2.3.4:', '1.2.3.4:'],
    ['1.2.3.4:123456', '1.2.3.4:123456'],
    ['', ''],
  ])('builds from %j the address %j', (written, address) => {
    expect(withoutPort(written)).toBe(address)
  })

  it('keeps the address and removes the port', () => {
    const port = fc.integer({ min: 0, max: 65_535 })
    fc.assert(
      fc.property(fc.ipV4(), fc.ipV6(), port, (v4, v6, n) => {
        expect([withoutPort(v4), withoutPort(`${v4}:${n}`)]).toEqual([v4, v4])
        expect([withoutPort(v6), withoutPort(`[${v6}]`), withoutPort(`[${v6}]:${n}`)]).toEqual([v6, v6, v6])
      }),
    )
  })
})

describe('the host of a request', () => {
  const hostFor = (url: string, headers: Record<string, string>, trustedProxies = 0) => {
    const message = { method: 'GET', url, headers: { host: 'one.example', ...headers }, socket: {} }
    const response = { once: () => {} }
    useTargetAsPath(message)
    return requestHostOf(
      createRequest(message as unknown as Request, response as unknown as Response, trustedProxies),
    )
  }

  it.each([
    ['/a', 'one.example'],
    ['//other.example/a', 'one.example'],
    ['http://other.example/a', 'other.example'],
    ['HTTPS://Other.Example:8443?a', 'Other.Example:8443'],
    ['http://user:password@other.example', 'other.example'],
    ['http:///a', 'one.example'],
    ['*', 'one.example'],
  ])('is, for the target %s, %s', (url, host) => {
    expect(hostFor(url, {})).toBe(host)
  })

  it.each([
    ['http://other.example', '/'],
    ['http://other.example?a=1', '/?a=1'],
    ['http://other.example/a?b', '/a?b'],
    ['*', '/*'],
    // Express would take the path of such a URL, and checks of the path would see another one.
    ['ftp://other.example/s/code', '/ftp://other.example/s/code'],
  ])('leaves of the target %s the path %s', (url, path) => {
    const message = { url, headers: {} }
    useTargetAsPath(message)
    expect(message.url).toBe(path)
  })

  it('is what a trusted proxy forwards', () => {
    const forwarded = { 'x-forwarded-host': 'public.example, inner.example', 'x-forwarded-for': '1.2.3.4' }
    expect(hostFor('http://inner.example/a', forwarded, 1)).toBe('public.example')
    expect(hostFor('http://other.example/a', forwarded)).toBe('other.example')
  })
})

const operation = defineOperation({
  id: 'test',
  method: 'post',
  path: '/x',
  tag: 'x',
  summary: 'x',
  access: { by: 'anyone' },
  query: Type.Object({ sync: Type.Optional(Type.String()), apiKey: Type.Optional(Type.String()) }),
  answers: {},
})

describe('a query', () => {
  it.each(['/x', '/x?', '/x?sync=1', '/x?sync=1&apiKey=a', '/x?%73ync=1', '/x?sync'])('may be %s', (url) => {
    expect(() => requireKnownQuery(operation, url)).not.toThrow()
  })

  it.each([
    ['/x?synch=1', 'synch is not a known query parameter; allowed: sync, apiKey'],
    ['/x?sync=1&sync=2', 'sync is given more than once'],
    ['/x?apikey=secret', 'apikey is not a known query parameter; allowed: sync, apiKey'],
    ['/x?toString=1', 'toString is not a known query parameter; allowed: sync, apiKey'],
    ['/x?=1', '"" is not a known query parameter; allowed: sync, apiKey'],
    [`/x?${'y'.repeat(1_000)}`, `${'y'.repeat(64)} is not a known query parameter; allowed: sync, apiKey`],
  ])('must not be %s', (url, message) => {
    expect(() => requireKnownQuery(operation, url)).toThrow(message)
  })

  it('is refused where none is documented', () => {
    expect(() => requireKnownQuery({}, '/x?a=1')).toThrow('none is allowed')
    expect(() => requireKnownQuery({}, '/x')).not.toThrow()
  })

  it('reports each unknown parameter once', () => {
    const message = 'is not a known query parameter; allowed: sync, apiKey'
    expect(unknownParameters(operation, '/x?a=1&sync=1&b=2&a=3&sync=4')).toEqual([
      { field: 'a', rule: 'additionalProperties', message },
      { field: 'b', rule: 'additionalProperties', message },
    ])
    expect(unknownParameters(operation, '/x?sync=1')).toEqual([])
  })

  it('is parsed, or refused without repeating its values, for any input', () => {
    fc.assert(
      fc.property(fc.string(), (name) => {
        try {
          requireKnownQuery(operation, `/x?${name}=hidden-value`)
        } catch (error) {
          if (!(error instanceof AppError)) throw error
          if (!name.includes('&')) expect(error.message).not.toContain('hidden-value')
        }
      }),
    )
  })
})
