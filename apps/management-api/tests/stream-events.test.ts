import { once } from 'node:events'
import { type IncomingMessage, request } from 'node:http'
import { anEnrichedEvent, eventually, services } from '@waymark/testing'
import { afterAll, beforeAll, describe, expect, it, onTestFinished } from 'vitest'
import { type Management, startManagement } from './start-management.ts'

describe.skipIf(!services)('the stream of events', () => {
  let management: Management
  let mine: Awaited<ReturnType<typeof owner>>
  let other: Awaited<ReturnType<typeof owner>>
  beforeAll(async () => {
    management = await startManagement()
    mine = await owner()
    other = await owner()
  })
  afterAll(() => management?.stop())

  const owner = async () => {
    const user = await management.register()
    const projectId = user.account.projects[0]?.id ?? ''
    /** Stores events and returns when all of them were received. */
    const store = async (eventId: string, eventName = 'seen', visitorId = 'v', count = 1) => {
      const receivedAt = new Date().toISOString()
      const events = Array.from({ length: count }, (_, n) =>
        anEnrichedEvent({
          projectId,
          receivedAt,
          event: { eventId: `${eventId}${n + 1}`, eventName, visitorId },
        }),
      )
      await management.platform.eventStore.storeEvents(events)
      return receivedAt
    }
    return { user, projectId, store }
  }

  /** Opens a stream on a separate connection and collects its output. */
  const open = async (projectId: string, headers: Record<string, string>, query = '') => {
    const url = `${management.url}/api/projects/${projectId}/events/stream?${query}`
    const asked = request(url, { headers, agent: false })
      .on('error', () => {})
      .end()
    onTestFinished(() => void asked.destroy())
    const [response] = (await once(asked, 'response')) as [IncomingMessage]
    const state = { text: '', ended: false }
    response
      .setEncoding('utf8')
      .on('data', (text: string) => (state.text += text))
      .on('end', () => (state.ended = true))
      .on('error', () => {})
    return { status: response.statusCode, headers: response.headers, state, close: () => asked.destroy() }
  }
  const names = (text: string) =>
    [...text.matchAll(/^data: (.*)$/gm)].map(
      ([, json = '{}']) => (JSON.parse(json) as { eventId?: string }).eventId,
    )

  it('sends new events as they are stored, and no older ones', async () => {
    const { user, projectId, store } = mine
    await store('before-')
    const { headers, state } = await open(projectId, { Cookie: user.cookie })
    expect(headers['content-type']).toBe('text/event-stream; charset=utf-8')
    expect(headers['cache-control']).toBe('no-store')
    await eventually('the stream has begun', () => state.text.includes(': connected'))
    for (let n = 1; n <= 5; n++) {
      await store(`after-${n}-`)
      await eventually('the event arrives', () => names(state.text).length === n)
    }
    expect(names(state.text)).toEqual([1, 2, 3, 4, 5].map((n) => `after-${n}-1`))
  })

  it('sends only matching events of its project', async () => {
    const headers = { Cookie: mine.user.cookie }
    const { state } = await open(mine.projectId, headers, 'eventName=bought&visitorId=w')
    await eventually('the stream has begun', () => state.text.includes(': connected'))
    await mine.store('other-name-', 'seen', 'w')
    await mine.store('other-visitor-', 'bought', 'v')
    await other.store('other-project-', 'bought', 'w')
    await mine.store('fits-', 'bought', 'w')
    await eventually('the event arrives', () => names(state.text).length > 0)
    expect(names(state.text)).toEqual(['fits-1'])
    expect((await open(other.projectId, headers)).status).toBe(404)
    expect((await open(mine.projectId, {})).status).toBe(401)
  })

  it.each([200, 201, 450])(
    'sends %i events that arrive at once, or says what it leaves out',
    async (count) => {
      const headers = { Cookie: mine.user.cookie }
      const { state } = await open(mine.projectId, headers, `eventName=many-${count}`)
      await eventually('the stream has begun', () => state.text.includes(': connected'))
      const at = await mine.store(`many-${count}-`, `many-${count}`, 'v', count)
      await eventually('the events arrive', () => names(state.text).filter(Boolean).length === 200)
      if (count > 200)
        await eventually('a gap is sent for the others', () => state.text.includes('event: gap'))
      await mine.store(`last-${count}-`, `many-${count}`)
      await eventually('the last event arrives', () => names(state.text).at(-1) === `last-${count}-1`)
      const gaps = [...state.text.matchAll(/^event: gap\ndata: (.*)$/gm)].map(([, json = '']) =>
        JSON.parse(json),
      )
      expect(gaps).toEqual(count > 200 ? [{ dropped: count - 200, from: at, to: at }] : [])
    },
  )

  it('is limited to thirty per project, and available again after one is closed', async () => {
    const { projectId } = other
    const headers = { 'X-API-Key': await management.key(projectId) }
    const streams: Awaited<ReturnType<typeof open>>[] = []
    while (streams.length < 30) streams.push(await open(projectId, headers))
    expect(streams.map(({ status }) => status)).toEqual(Array(30).fill(200))
    const refused = await open(projectId, headers)
    expect(refused.status).toBe(429)
    await eventually('it says why', () => refused.state.text.includes('30 event streams'))
    streams[0]?.close()
    await eventually('there is room again', async () => (await open(projectId, headers)).status === 200)
  })

  it('ends with its session or key', async () => {
    const { user, projectId } = mine
    const key = await management.key(projectId)
    const bySession = await open(projectId, { Cookie: user.cookie })
    const byKey = await open(projectId, { 'X-API-Key': key })
    await user.request('POST', '/api/auth/logout')
    const { rows } = await management.db.pool.query<{ id: string }>(
      'UPDATE core.api_keys SET revoked_at = now() WHERE project_id = $1 RETURNING id',
      [projectId],
    )
    expect(rows).toHaveLength(1)
    await management.db.pool.query('INSERT INTO core.config_changes (project_id) VALUES ($1)', [projectId])
    await eventually('both have ended', () => bySession.state.ended && byKey.state.ended)
    for (const { state } of [bySession, byKey]) expect(state.text).toContain('event: end')
  })
})
