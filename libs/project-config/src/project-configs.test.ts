import { createMemoryCache } from '@waymark/cache'
import { createMemoryLog } from '@waymark/testing'
import type { Pool } from 'pg'
import { describe, expect, it } from 'vitest'
import { createProjectConfigs } from './project-configs.ts'

const PROJECT = '01900000-0000-7000-8000-000000000001'
const snapshot = {
  projectId: PROJECT,
  settings: { ingestValidation: { mode: 'enforce' } },
  definitions: { order: { required: ['total'] } },
  selectors: [],
  decisions: [],
  triggers: [],
}
const away = {
  query: async () => {
    throw Object.assign(new Error('connect'), { code: 'ECONNREFUSED' })
  },
} as unknown as Pool

/** The configuration by a process that knows nothing yet, whose database is away and whose cache holds `text`. */
const configBy = async (text: string) => {
  const cache = createMemoryCache()
  await cache.set(`project-config:v3:${PROJECT}`, text, 60_000)
  const changes = { isCurrent: () => true, isWatching: () => true, poll: async () => {} }
  return createProjectConfigs({ pool: away, cache, changes, log: createMemoryLog(), now: Date.now }).get(
    PROJECT,
  )
}

describe('a copy of a configuration', () => {
  it('counts while the database is away', async () => {
    const config = await configBy(JSON.stringify(snapshot))
    expect(config.settings).toEqual(snapshot.settings)
    expect(config.checkFor('order')?.({})).toHaveLength(1)
  })

  it.each([
    ['no JSON', '{'],
    ['null', 'null'],
    ['of an older shape', JSON.stringify({ projectId: PROJECT, settings: {}, definitions: {} })],
    ['of another project', JSON.stringify({ ...snapshot, projectId: 'another' })],
    ['with lists that are none', JSON.stringify({ ...snapshot, selectors: {} })],
    ['with decisions that are none', JSON.stringify({ ...snapshot, decisions: [{ key: 'a' }] })],
    ['with definitions that are none', JSON.stringify({ ...snapshot, definitions: { order: 'x' } })],
  ])('does not count when it is %s', async (_what, text) => {
    await expect(configBy(text)).rejects.toMatchObject({ code: 'store_unavailable' })
  })

  it('loses what cannot be compiled, and nothing else', async () => {
    const decision = { id: 'd', key: 'banner', status: 'active', version: 1, definition: {} }
    const config = await configBy(
      JSON.stringify({ ...snapshot, decisions: [decision], definitions: { order: { type: 'no such' } } }),
    )
    expect(config.checkFor('order')).toBeUndefined()
    expect(config.settings).toEqual(snapshot.settings)
  })
})
