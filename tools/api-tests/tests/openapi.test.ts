import { Validator } from '@seriousme/openapi-schema-validator'
import { answersOf, openApiDocument } from '@waymark/contracts/http/openapi'
import type { Operation } from '@waymark/contracts/http/operation'
import { operations } from '@waymark/contracts/http/operations'
import { queryExamples, requestExamples } from '@waymark/contracts/http/request-examples'
import { extent, services } from '@waymark/testing'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import type { Example, Way } from './openapi/example.ts'
import { examples } from './openapi/examples.ts'
import { type Call, startWorld, type World } from './openapi/world.ts'

/** The requests of an example for a status, one for each documented reason. */
const waysTo = (status: number, example?: Example): { reason: string; special: Way | undefined }[] => {
  const special = example?.others?.[status]
  if (typeof special !== 'object') return [{ reason: '', special }]
  return Object.entries(special).map(([reason, way]) => ({ reason, special: way }))
}

/** Operations whose examples need a value that only the reader has: a token, a password, a code or an id. */
const NAMES_WHAT_IS_OWN = [
  'login',
  'changePassword',
  'resetPassword',
  'verifyEmail',
  'completeLogin',
  'confirmSecondFactor',
  'reauthenticate',
  'acceptInvitation',
  'testEmailTrigger',
  'createSubscription',
  'startOidcSignIn',
  'linkIdentity',
  'createOidcProvider',
  'endOidcSessions',
  'redeemCoupon',
  'revokeCoupons',
]

const TOO_LONG = Buffer.from(JSON.stringify({ long: 'x'.repeat(11 * 1024 * 1024) }))

/**
 * Refusals that follow from the access and the parts of an operation come from code that all operations share. Each is
 * provoked at one operation in so many, and at all of them with `npm run test:chaos`.
 */
const REFUSED_ONE_IN = extent(10, 1)

/** One operation in so many is asked what a test asks of all operations alike, and all with `npm run test:chaos`. */
const ASKED_ONE_IN = extent(4, 1)
const some = <T>(all: readonly T[]): T[] => all.filter((_, index) => index % ASKED_ONE_IN === 0)

/** An empty value of a known query parameter, which no parameter allows. */
const emptyParameter = (schema: object): Record<string, string> => {
  const [name = ''] = Object.keys((schema as { properties?: object }).properties ?? {})
  return { [name]: '' }
}

/** A request with a status that follows from the operation's access and parts. */
const spoil = (
  status: number,
  operation: Operation,
  good: Call,
  others: { narrowKey: string; foreignProjectId: string },
): Call | undefined => {
  const { access, body, query } = operation
  switch (status) {
    case 401:
      return { ...good, key: null, headers: {} }
    case 403:
      if (access.by === 'anyone' || access.by === 'session')
        return { ...good, headers: { ...good.headers, Origin: 'https://elsewhere.example' } }
      return { ...good, key: others.narrowKey }
    case 404:
      return access.by === 'project'
        ? { ...good, params: { ...good.params, projectId: others.foreignProjectId } }
        : { ...good, params: { file: 'unknown' } }
    case 400:
      return body ? { ...good, body: '{' } : { ...good, query: { ...good.query, unknown: '1' } }
    case 304:
      return { ...good, headers: { ...good.headers, 'If-None-Match': '*' } }
    case 412:
      return { ...good, headers: { ...good.headers, 'If-Match': '"another"' } }
    case 413:
      return { ...good, body: TOO_LONG }
    case 415:
      return { ...good, headers: { ...good.headers, 'Content-Type': 'text/plain' } }
    case 422:
      if (body) return { ...good, body: [] }
      return query ? { ...good, query: emptyParameter(query.schema) } : undefined
    default:
      return undefined
  }
}

describe('the OpenAPI document', () => {
  it('is valid OpenAPI 3.1', async () => {
    const result = await new Validator().validate(openApiDocument(operations, '1.0.0'))
    expect(result.errors ?? []).toEqual([])
    expect(result.valid).toBe(true)
  })

  it('has an example for each operation, and each only once', () => {
    expect([...examples.keys()].sort()).toEqual(operations.map(({ id }) => id).sort())
  })
})

describe.skipIf(!services)('every documented response occurs, and no other', () => {
  let world: World
  beforeAll(async () => {
    world = await startWorld(1_000_000)
  })
  afterAll(() => world?.stop())

  const spoilable = new Map<string, Promise<Call>>()
  /** A valid request that is only sent spoilt, so that all refusals of an operation share its resources. */
  const toSpoil = async (id: string): Promise<Call> => {
    const call = spoilable.get(id) ?? Promise.resolve(examples.get(id)?.good(world) ?? {})
    spoilable.set(id, call)
    return call
  }

  let narrowKey: Promise<string> | undefined
  const refused = async (status: number, operation: Operation): Promise<Call | undefined> => {
    if (status < 304) return undefined
    narrowKey ??= world.keyWith(['links:read'])
    return spoil(status, operation, await toSpoil(operation.id), {
      narrowKey: await narrowKey,
      foreignProjectId: world.foreignProjectId,
    })
  }

  const served = operations.map((operation, index) => ({ id: operation.id, operation, index }))
  describe.each(served)('$id', ({ id, operation, index }) => {
    const example = examples.get(id)
    const statuses = Object.keys(answersOf(operation)).map(Number)
    const provoked = statuses.filter((status) => status !== 429 && status !== 503)

    const isTaken = (status: number, special: Way | undefined): boolean =>
      special !== undefined || status < 304 || (index + status) % REFUSED_ONE_IN === 0
    const ways = provoked
      .flatMap((status) => waysTo(status, example).map((way) => ({ status, ...way })))
      .filter(({ status, special }) => isTaken(status, special))

    it.each(ways)('$status $reason', async ({ status, reason, special }) => {
      if (!example) throw new Error(`${id} has no example`)
      const call = special
        ? await special(world)
        : ((await refused(status, operation)) ?? (await example.good(world)))
      const answer = await world.call(operation, call)
      expect(answer.status).toBe(status)
      if (reason) expect(answer.body).toMatchObject({ reason })
    })
  })

  const shown = operations.filter(
    ({ id }) => (requestExamples[id] ?? queryExamples[id]) !== undefined && !NAMES_WHAT_IS_OWN.includes(id),
  )
  it.each(some(shown))('$id accepts the example in the document', async (operation) => {
    const { id } = operation
    const good = await examples.get(id)?.good(world)
    const call = { ...good, body: requestExamples[id], query: { ...good?.query, ...queryExamples[id] } }
    const { status, text } = await world.call(operation, call)
    expect(status, text).toBeLessThan(400)
  })

  it('answers 503 for each operation without the database', async () => {
    const affected = some(
      operations.filter((operation) => 503 in answersOf(operation) && !examples.get(operation.id)?.goesOn),
    )
    // In sequence, because concurrent requests would exceed the deadline on a slow machine.
    const calls: { operation: Operation; call: Call }[] = []
    for (const operation of affected) {
      // A link that was asked for before is answered from a cache.
      const isCached = operation.access.by === 'anyone'
      const fresh = isCached ? await examples.get(operation.id)?.good(world) : undefined
      calls.push({ operation, call: fresh ?? (await toSpoil(operation.id)) })
    }
    const answers = await world.withoutDatabase(() =>
      Promise.all(
        calls.map(async ({ operation, call }) => [operation.id, (await world.call(operation, call)).status]),
      ),
    )
    expect(Object.fromEntries(answers)).toEqual(Object.fromEntries(affected.map(({ id }) => [id, 503])))
  })
})

describe.skipIf(!services)('with the lowest limits', () => {
  let world: World
  beforeAll(async () => {
    world = await startWorld(1)
  })
  afterAll(() => world?.stop())

  it.each(some(operations.filter(({ limited }) => limited)))('$id answers 429', async (operation) => {
    const example = examples.get(operation.id)
    if (!example) throw new Error(`${operation.id} has no example`)
    const [way] = waysTo(429, example)
    const call = await (way?.special ?? example.good)(world)
    const first = await world.call(operation, call)
    const second = await world.call(operation, call)
    // When another test has used the limit, the first is refused, and the minute may end before the second.
    expect([first.status, second.status]).toContain(429)
  })
})
