import { apiKeyScopes } from '@waymark/contracts/api-key'
import { createApiKey } from '@waymark/contracts/http/api-keys'
import type { Operation } from '@waymark/contracts/http/operation'
import { operations } from '@waymark/contracts/http/operations'
import { services } from '@waymark/testing'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { asOwner, stringIn } from './openapi/example.ts'
import { examples } from './openapi/examples.ts'
import { type Call, startWorld, type World } from './openapi/world.ts'

const namesIn = ({ path }: Operation): string[] =>
  [...path.matchAll(/\{(\w+)\}/g)].flatMap(([, name]) => (name === 'projectId' ? [] : (name ?? [])))

/** A resource in the path that belongs to a project or to a user. */
const owned = operations.filter(
  (operation) => operation.access.by !== 'anyone' && namesIn(operation).length > 0,
)

describe.skipIf(!services)('resources of another project are not found', () => {
  let world: World
  let stranger: Call
  let strangersKey: string
  beforeAll(async () => {
    world = await startWorld(1_000_000)
    stranger = await asOwner(world)
    const body = { name: 'All', kind: 'sec', scopes: apiKeyScopes }
    strangersKey = stringIn((await world.call(createApiKey, { ...stranger, body })).body, 'key')
  })
  afterAll(() => world?.stop())

  it('includes such operations', () => expect(owned.length).toBeGreaterThan(40))

  it.each(owned)('$id', async (operation) => {
    const good = await examples.get(operation.id)?.good(world)
    if (!good) throw new Error(`${operation.id} has no example`)
    const [name = ''] = namesIn(operation)
    const theirs = good.params?.[name] ?? ''
    const { Cookie: _, Origin: __, ...headers } = good.headers ?? {}
    const asStranger: Call =
      operation.access.by === 'key'
        ? { ...good, headers, key: strangersKey }
        : { ...good, key: null, headers: { ...headers, ...stranger.headers } }
    const ask = async (id: string) => {
      const { status, text } = await world.call(operation, {
        ...asStranger,
        params: { ...stranger.params, [name]: id },
      })
      return { status, text: text.replaceAll(id, 'the id') }
    }

    expect(theirs).not.toBe('')
    const foreign = await ask(theirs)
    const missing = await ask(theirs.replace(/[0-9a-f]/gi, '7'))
    expect(foreign).toEqual(missing)
    expect(foreign.status).toBe(404)
    // The resource is unchanged.
    expect((await world.call(operation, good)).status).toBeLessThan(400)
  })
})
