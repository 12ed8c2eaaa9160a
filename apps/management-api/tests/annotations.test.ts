import { randomUUID } from 'node:crypto'
import {
  type AnnotationView,
  MAX_ANNOTATION_LENGTH,
  MAX_ANNOTATIONS,
} from '@waymark/contracts/http/annotations'
import { services } from '@waymark/testing'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { type Management, startManagement } from './start-management.ts'

const DAY_MS = 24 * 60 * 60 * 1000
const QUOTA = 300

describe.skipIf(!services)('annotations', () => {
  let management: Management
  beforeAll(async () => {
    management = await startManagement({ env: { QUOTA_ANNOTATIONS: `${QUOTA}` } })
  })
  afterAll(() => management?.stop())

  const owner = async () => {
    const user = await management.register()
    const projectId = user.account.projects[0]?.id ?? ''
    const call = async (method: string, path: string, body?: object) => {
      const response = await user.request(method, `/api/projects/${projectId}/${path}`, body)
      const text = await response.text()
      return { status: response.status, body: text === '' ? {} : JSON.parse(text) }
    }
    const list = async (from: string, to: string): Promise<AnnotationView[]> => {
      const { status, body } = await call('GET', `annotations?from=${from}&to=${to}`)
      expect(status).toBe(200)
      return body.data
    }
    return { projectId, call, list }
  }
  const at = (ms: number) => new Date(ms).toISOString()
  const textsOf = (annotations: readonly AnnotationView[]) => annotations.map(({ text }) => text)

  it('are created at a time, listed from one time to another with the last first, and deleted', async () => {
    const { call, list } = await owner()
    const note = (text: string, time: string) => call('POST', 'annotations', { text, at: time })
    expect((await note('first', '2026-01-01T00:00:00Z')).status).toBe(201)
    const { body: second } = await note('second', '2026-01-02T00:00:00+01:00')
    expect(second).toEqual({
      id: expect.any(String),
      kind: 'note',
      text: 'second',
      at: '2026-01-01T23:00:00.000Z',
      resourceId: null,
    })
    await note('third', '2026-01-03T00:00:00Z')
    const range = ['2026-01-01T00:00:00Z', '2026-01-03T00:00:00Z'] as const
    expect(textsOf(await list(...range))).toEqual(['second', 'first'])
    expect((await call('DELETE', `annotations/${second.id}`)).status).toBe(204)
    expect((await call('DELETE', `annotations/${second.id}`)).status).toBe(404)
    expect(textsOf(await list(...range))).toEqual(['first'])
  })

  it('are of now without a time', async () => {
    const { call, list } = await owner()
    const before = Date.now()
    const { body } = await call('POST', 'annotations', { text: 'Deployed 1.4.0' })
    expect(Date.parse(body.at)).toBeGreaterThanOrEqual(before)
    expect(textsOf(await list(at(before), at(before + DAY_MS)))).toEqual(['Deployed 1.4.0'])
  })

  it('belong to one project', async () => {
    const [mine, other] = [await owner(), await owner()]
    const { body } = await mine.call('POST', 'annotations', { text: 'mine', at: '2026-01-01T00:00:00Z' })
    expect(await other.list('2026-01-01T00:00:00Z', '2026-01-02T00:00:00Z')).toEqual([])
    expect((await other.call('DELETE', `annotations/${body.id}`)).status).toBe(404)
  })

  it.each([
    ['an empty text', { text: '' }],
    ['a blank text', { text: ' ' }],
    ['too long a text', { text: 'x'.repeat(MAX_ANNOTATION_LENGTH + 1) }],
    ['no time', { text: 'x', at: 'yesterday' }],
    ['an unknown field', { text: 'x', kind: 'decision' }],
  ])('are refused with %s', async (_, body) => {
    const { call } = await owner()
    expect((await call('POST', 'annotations', body)).status).toBe(422)
  })

  it('have at most 200 characters', async () => {
    const { call } = await owner()
    expect((await call('POST', 'annotations', { text: 'x'.repeat(MAX_ANNOTATION_LENGTH) })).status).toBe(201)
  })

  it('are not listed for a range that ends before it begins', async () => {
    const { call } = await owner()
    const { status, body } = await call(
      'GET',
      'annotations?from=2026-01-02T00:00:00Z&to=2026-01-02T00:00:00Z',
    )
    expect([status, body.errors?.[0]?.field ?? body.field]).toEqual([422, 'to'])
  })

  it('end at the quota of a project, and a list at 200', async () => {
    const { projectId, call, list } = await owner()
    await management.db.pool.query(
      `INSERT INTO core.annotations (id, project_id, text, at)
       SELECT gen_random_uuid(), $1, n, '2026-01-01Z'::timestamptz + make_interval(mins => n)
       FROM generate_series(1, $2) AS n`,
      [projectId, QUOTA - 1],
    )
    expect((await call('POST', 'annotations', { text: 'the last' })).status).toBe(201)
    expect((await call('POST', 'annotations', { text: 'one too many' })).status).toBe(422)
    const listed = await list('2026-01-01T00:00:00Z', '2026-01-02T00:00:00Z')
    expect(listed).toHaveLength(MAX_ANNOTATIONS)
    expect(listed[0]?.text).toBe(`${QUOTA - 1}`)
  })

  it('say when active decisions changed and their ramps took a step, and when schemas did', async () => {
    const { call, list } = await owner()
    const since = Date.now() - DAY_MS
    const created = async (path: string, body: object) => {
      const made = await call('POST', path, body)
      expect(made.status, JSON.stringify(made.body)).toBe(201)
      return made.body as { id: string }
    }
    await created('decisions', {
      key: 'draft',
      variants: [{ key: 'a', value: 1 }],
      rules: [],
      fallbackVariant: 'a',
    })
    const decision = await created('decisions', {
      key: 'checkout',
      status: 'active',
      variants: [
        { key: 'a', value: 1 },
        { key: 'b', value: 2 },
      ],
      fallbackVariant: 'a',
      rules: [
        {
          variant: 'b',
          ramp: [
            { at: at(since + 1_000), percentage: 25 },
            { at: at(Date.now() + DAY_MS), percentage: 100 },
          ],
        },
      ],
    })
    expect((await call('POST', 'decisions/checkout/pause')).status).toBe(200)
    const definition = await created('event-definitions', { name: 'order', schema: { type: 'object' } })
    const schema = { type: 'object', required: ['total'] }
    expect((await call('PATCH', `event-definitions/${definition.id}`, { schema })).status).toBe(200)

    const paused = await list(at(since), at(Date.now() + 2 * DAY_MS))
    expect(textsOf(paused)).toEqual([
      'Schema of order: version 2',
      'Decision checkout paused',
      'Decision checkout activated',
    ])
    expect(paused.map(({ kind, resourceId }) => [kind, resourceId])).toEqual([
      ['schema', definition.id],
      ['decision', decision.id],
      ['decision', decision.id],
    ])
    expect((await call('POST', 'decisions/checkout/activate')).status).toBe(200)
    expect(textsOf(await list(at(since), at(since + 2_000)))).toEqual(['Decision checkout: 25 %'])
    expect((await call('DELETE', `annotations/${randomUUID()}`)).status).toBe(404)
  })

  it('say nothing of a step that waits for its people', async () => {
    const { call, list } = await owner()
    const since = Date.now() - DAY_MS
    const made = await call('POST', 'decisions', {
      key: 'guarded',
      metrics: [{ key: 'orders', eventName: 'order_placed', kind: 'count', goal: 'up' }],
      status: 'active',
      variants: [
        { key: 'a', value: 1 },
        { key: 'b', value: 2 },
      ],
      fallbackVariant: 'a',
      rules: [
        {
          variant: 'b',
          guards: [{ metric: 'orders', worseThan: 10, action: 'pause' }],
          ramp: [
            { at: at(since), percentage: 25, minPeople: 100 },
            { at: at(since + 1_000), percentage: 100 },
          ],
        },
      ],
    })
    expect(made.status, JSON.stringify(made.body)).toBe(201)
    expect(textsOf(await list(at(since), at(since + 2_000)))).toEqual(['Decision guarded: 25 %'])
  })
})
