import { MAX_SCHEMA_PARTS } from '@waymark/contracts/http/event-definitions'
import { MAX_SELECTORS_PER_EVENT } from '@waymark/contracts/http/metering-selectors'
import { services } from '@waymark/testing'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { type Browser, type Management, startManagement } from './start-management.ts'

describe.skipIf(!services)('limits of definitions and selectors', () => {
  let management: Management
  let owner: Browser
  let path: string

  beforeAll(async () => {
    management = await startManagement()
    const registered = await management.register()
    owner = registered
    path = `/api/projects/${registered.account.projects[0]?.id}`
  })
  afterAll(() => management?.stop())

  const post = async (resource: string, body: object) => {
    const response = await owner.request('POST', `${path}/${resource}`, body)
    return { status: response.status, body: (await response.json()) as { errors?: object[] } }
  }

  it('accept a schema at the limit of parts, and refuse one with one more', async () => {
    // `properties` and each of its members are a part.
    const schemaOf = (parts: number) => ({
      properties: Object.fromEntries(Array.from({ length: parts - 1 }, (_, n) => [`p${n}`, {}])),
    })
    const create = (parts: number) =>
      post('event-definitions', { name: `with ${parts}`, schema: schemaOf(parts) })
    expect(await create(MAX_SCHEMA_PARTS)).toMatchObject({ status: 201 })
    expect(await create(MAX_SCHEMA_PARTS + 1)).toMatchObject({
      status: 422,
      body: {
        errors: [
          {
            field: 'schema',
            rule: 'unsafe_schema',
            message: expect.stringContaining(
              `has ${MAX_SCHEMA_PARTS + 1} keywords and members, of which ${MAX_SCHEMA_PARTS} are allowed`,
            ),
          },
        ],
      },
    })
  })

  it('accept selectors at the limit of an event name, and refuse one more of that name', async () => {
    const create = (eventName: string) => post('metering-selectors', { eventName })
    for (let n = 0; n < MAX_SELECTORS_PER_EVENT; n++)
      expect(await create('order')).toMatchObject({ status: 201 })
    expect(await create('order')).toMatchObject({
      status: 422,
      body: {
        errors: [
          {
            field: 'eventName',
            rule: 'max_selectors',
            message: expect.stringContaining(`has ${MAX_SELECTORS_PER_EVENT} metering selectors`),
          },
        ],
      },
    })
    expect(await create('refund')).toMatchObject({ status: 201 })
  })
})
