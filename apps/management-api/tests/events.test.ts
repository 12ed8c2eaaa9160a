import { mkdtemp, rm, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import path from 'node:path'
import { DuckDBInstance } from '@duckdb/node-api'
import { type FilterRequest, MAX_FILTERS } from '@waymark/contracts/http/analytics-parts'
import { MAX_EXPORT_LIMIT, MAX_FILTERS_LENGTH } from '@waymark/contracts/http/events'
import type { EnrichedEvent } from '@waymark/contracts/records/enriched-event'
import { fulfils, parseFilter } from '@waymark/domain/analytics'
import { eventKeyOf } from '@waymark/domain/ingestion'
import { createEventWriter, resolveProfiles } from '@waymark/pipeline'
import { anEnrichedEvent, services } from '@waymark/testing'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { type Json, startWorld, type World } from './world.ts'

const HOUR_MS = 3_600_000
const START = Date.parse('2026-02-01T00:00:00Z')
const COUNT = 5_300
const RARE = 17
/** The visitors of the first events, which a spreadsheet would take for formulas. */
const UNSAFE = ['=1+1', '-a,"b"']
const KEY = `a.'b"$`
const values: unknown[] = ['=SUM(A1)', 'ä,"b"\n', 4, 4.5, -1, true, false, null, { x: 1 }, [1], '4', '']

describe.skipIf(!services)('events that are filtered', () => {
  let world: World
  let write: ReturnType<typeof createEventWriter>
  const eventOf = (n: number): EnrichedEvent => {
    const receivedAt = new Date(START + n * 1_000).toISOString()
    const made = anEnrichedEvent({
      projectId: world.projectId,
      receivedAt,
      event: {
        eventId: `e${n}`,
        eventName: n === RARE ? 'rare' : 'common',
        visitorId: n === RARE ? 'v' : (UNSAFE[n] ?? `v${n}`),
        properties: { n, [KEY]: values[n % values.length] },
      },
    })
    return { ...made, timestamp: receivedAt, profileId: null }
  }

  beforeAll(async () => {
    world = await startWorld()
    const { db, eventStore, projectConfigs } = world.platform
    write = createEventWriter({ db, eventStore, projectConfigs })
    const found = await resolveProfiles(db.pool, [
      { projectId: world.projectId, visitorId: 'v', userId: null },
      { projectId: world.projectId, visitorId: null, userId: 'u' },
    ])
    const [merged, person] = found.map((id) => id ?? '') as [string, string]
    await db.prisma.profile.update({ where: { id: merged }, data: { mergedInto: person } })
    const { projectId } = world
    await eventStore.storeProfiles([
      { projectId, profileId: merged, mergedInto: person, traits: {}, version: 1 },
      { projectId, profileId: person, mergedInto: null, traits: { plan: 'pro' }, version: 1 },
    ])
    const events = Array.from({ length: COUNT }, (_, n) => ({
      ...eventOf(n),
      profileId: n === RARE ? merged : null,
      // The last ones happened long before they were received.
      ...(n >= COUNT - 10 && { timestamp: new Date(START - 100 * HOUR_MS).toISOString() }),
    }))
    for (let at = 0; at < COUNT; at += 1_000) await write(events.slice(at, at + 1_000))
  })
  afterAll(() => world?.stop())

  const place = (resource: string, query: Json, filters?: FilterRequest[]) => {
    const parameters = new URLSearchParams(query as Record<string, string>)
    if (filters) parameters.set('filters', JSON.stringify(filters))
    return `${resource}?${parameters}`
  }
  const list = (query: Json, filters?: FilterRequest[]) => world.readAll(place('events', query, filters), 500)
  const numbers = (events: Json[]) => events.map(({ properties }) => (properties as Json).n)

  it.each<[FilterRequest, unknown[]]>([
    [{ property: 'eventName', op: 'eq', value: 'rare' }, [RARE]],
    [{ property: 'traits.plan', op: 'eq', value: 'pro' }, [RARE]],
    [{ property: 'properties.n', op: 'lt', value: 2 }, [1, 0]],
    [{ property: 'properties.n', op: 'in', value: [5, '6', true] }, [5]],
  ])('are those that match %j, at any age', async (filter, expected) => {
    expect(numbers(await list({}, [filter]))).toEqual(expected)
  })

  it.each([
    ...['eq', 'neq'].flatMap((op) => ['=SUM(A1)', 4, true, '4'].map((value) => ({ op, value }))),
    { op: 'in', value: ['=SUM(A1)', -1, false] },
    { op: 'not_in', value: [4, ''] },
    ...['gt', 'gte', 'lt', 'lte'].flatMap((op) => [4, '4', 4.5].map((value) => ({ op, value }))),
    { op: 'contains', value: '"b"' },
    { op: 'starts_with', value: '=' },
    { op: 'exists' },
    { op: 'not_exists' },
  ])('are those that match %j in the event store', async (request) => {
    const filter = { property: `properties.a\\.'b"$`, ...request } as FilterRequest
    const parsed = parseFilter(filter)
    if ('message' in parsed) throw new Error(parsed.message)
    const few = [filter, { property: 'properties.n', op: 'lt' as const, value: 24 }]
    const expected = Array.from({ length: 24 }, (_, n) => n).filter((n) =>
      fulfils(values[n % values.length], parsed),
    )
    expect(numbers(await list({}, few))).toEqual(expected.reverse())
  })

  it.each([
    ['0', 'exists', undefined, []],
    ['0', 'eq', 1, []],
    ['-1', 'exists', undefined, []],
    ['x', 'eq', 1, [20, 8]],
    ['x.0', 'exists', undefined, []],
  ] as const)('are not found by the place %s in a list', async (key, op, value, expected) => {
    const of = { property: `properties.a\\.'b"$.${key}`, op, ...(value !== undefined && { value }) }
    const few = [of, { property: 'properties.n', op: 'lt' as const, value: 24 }]
    expect(numbers(await list({}, few))).toEqual(expected)
  })

  it('are found by their id, also after their claim was forgotten', async () => {
    const byId = async (n: number) => numbers(await world.readAll(place('events', { eventId: `e${n}` }), 1))
    const claim = (n: number) => [world.projectId, eventKeyOf(`e${n}`)]
    const { pool } = world.platform.db
    const where = 'WHERE project_id = $1 AND event_key = $2'
    expect(await byId(40)).toEqual([40])
    await pool.query(`DELETE FROM ingest.event_ids ${where}`, claim(40))
    expect(await byId(40)).toEqual([40])
    // Only the time of the claim is searched, which takes the same time in a store of any size.
    await pool.query(
      `UPDATE ingest.event_ids SET received_at = received_at - interval '1 ms' ${where}`,
      claim(41),
    )
    expect(await byId(41)).toEqual([])
  })

  it('are those with a timestamp in the range', async () => {
    const at = (n: number) => new Date(START + n * 1_000).toISOString()
    expect(numbers(await list({ from: at(10), to: at(13) }))).toEqual([12, 11, 10])
    const late = await list({ to: at(0) })
    expect(numbers(late)).toEqual(Array.from({ length: 10 }, (_, n) => COUNT - 1 - n))
  })

  it('are paged without gaps', async () => {
    const filter: FilterRequest = { property: 'properties.n', op: 'lt', value: 30 }
    const pages = await world.readAll(place('events', {}, [filter]), 7)
    expect(numbers(pages)).toEqual(Array.from({ length: 30 }, (_, n) => 29 - n))
  })

  it('are refused with invalid filters', async () => {
    const refused = async (filters: string) => {
      const query = new URLSearchParams({ filters })
      const { status, body } = await world.manage('GET', `events?${query}`)
      return [status, (body.errors as { field: string }[] | undefined)?.[0]?.field]
    }
    const filter = { property: 'eventName', op: 'eq', value: 'a' }
    const many = (count: number) => JSON.stringify(Array.from({ length: count }, () => filter))
    expect(await refused('[')).toEqual([422, 'filters'])
    expect(await refused('{}')).toEqual([422, 'filters'])
    expect(await refused('[{"property":"price","op":"exists"}]')).toEqual([422, 'filters.0.property'])
    expect(await refused(many(MAX_FILTERS))).toEqual([200, undefined])
    expect(await refused(many(MAX_FILTERS + 1))).toEqual([422, 'filters'])
    const padded = (length: number) => `${many(1)}${' '.repeat(length - many(1).length)}`
    expect(await refused(padded(MAX_FILTERS_LENGTH))).toEqual([200, undefined])
    expect(await refused(padded(MAX_FILTERS_LENGTH + 1))).toEqual([422, 'filters'])
  })

  it('are exported as JSON lines, also from a cursor', async () => {
    const exported = async (query: Json) => {
      const text = await world.text(place('events/export', query))
      return text
        .trimEnd()
        .split('\n')
        .map((line) => JSON.parse(line) as Json)
    }
    const all = await exported({})
    expect(numbers(all)).toEqual(Array.from({ length: COUNT }, (_, n) => COUNT - 1 - n))
    const [listed] = (await world.manage('GET', 'events?limit=1')).body.data as Json[]
    expect(all[0]).toEqual({ ...listed, cursor: expect.any(String) })
    const rest = await exported({ cursor: all[5_000]?.cursor, eventName: 'common' })
    expect(numbers(rest)).toEqual(
      numbers(all)
        .slice(5_001)
        .filter((n) => n !== RARE),
    )
  })

  it('are all exported when readers leave and others continue from the last cursor', async () => {
    const found: Json[] = []
    for (let cursor: unknown = ''; ; ) {
      const leaving = new AbortController()
      const response = await world.read(`events/export${cursor ? `?cursor=${cursor}` : ''}`, leaving.signal)
      expect(response.status).toBe(200)
      const decoder = new TextDecoder()
      const stream = response.body as ReadableStream<Uint8Array>
      let text = ''
      const isDone = await (async () => {
        for await (const chunk of stream) {
          text += decoder.decode(chunk, { stream: true })
          // The received text, which may end with a partial line that does not count.
          if (text.length > 200_000) return false
        }
        return true
      })()
      leaving.abort()
      const lines = text.split('\n').slice(0, -1)
      found.push(...lines.map((line) => JSON.parse(line) as Json))
      cursor = found.at(-1)?.cursor
      if (isDone) break
    }
    expect(numbers(found)).toEqual(Array.from({ length: COUNT }, (_, n) => COUNT - 1 - n))
  })

  it('are exported in parts without a gap or a repeat', async () => {
    const found: Json[] = []
    const sizes: number[] = []
    for (let cursor: unknown; ; ) {
      const query = { limit: '1999', ...(cursor !== undefined && { cursor }) }
      const lines = (await world.text(place('events/export', query))).split('\n').slice(0, -1)
      found.push(...lines.map((line) => JSON.parse(line) as Json))
      sizes.push(lines.length)
      cursor = found.at(-1)?.cursor
      if (lines.length < 1_999) break
    }
    expect(sizes).toEqual([1_999, 1_999, COUNT - 2 * 1_999])
    expect(numbers(found)).toEqual(Array.from({ length: COUNT }, (_, n) => COUNT - 1 - n))
    // The filters hold for the parts as well.
    const filters: FilterRequest[] = [{ property: 'properties.n', op: 'lt', value: 300 }]
    const [last] = (await world.text(place('events/export', { limit: '200' }, filters)))
      .split('\n')
      .slice(199)
    const { cursor } = JSON.parse(last ?? '') as Json
    const rest = (await world.text(place('events/export', { limit: '200', cursor }, filters))).trimEnd()
    expect(numbers(rest.split('\n').map((line) => JSON.parse(line) as Json))).toEqual(
      Array.from({ length: 100 }, (_, n) => 99 - n),
    )
  })

  it('are exported up to a limit, which has limits', async () => {
    const statusOf = async (limit: number) => (await world.read(`events/export?limit=${limit}`)).status
    expect(await statusOf(MAX_EXPORT_LIMIT)).toBe(200)
    const { status, body } = await world.manage('GET', `events/export?limit=${MAX_EXPORT_LIMIT + 1}`)
    expect([status, (body.errors as Json[])[0]?.field]).toEqual([422, 'limit'])
    expect(await statusOf(0)).toBe(422)
    const lines = (await world.text('events/export?limit=1')).trimEnd().split('\n')
    expect(lines).toHaveLength(1)
  })

  it('are exported as Parquet with the values of the JSON lines', async () => {
    const folder = await mkdtemp(path.join(tmpdir(), 'export-'))
    const file = path.join(folder, 'events.parquet')
    const response = await world.read('events/export?format=parquet')
    expect(response.headers.get('Content-Type')).toBe('application/vnd.apache.parquet')
    await writeFile(file, Buffer.from(await response.arrayBuffer()))
    const instance = await DuckDBInstance.create()
    const connection = await instance.connect()
    try {
      const rows = (await connection.runAndReadAll(`SELECT * FROM '${file}'`)).getRowObjects()
      const lines = (await world.text('events/export')).trimEnd().split('\n')
      const found = rows.map((row) =>
        Object.fromEntries(
          Object.entries(row).map(([name, value]) => {
            if (['properties', 'context', 'clickIds', 'warnings'].includes(name))
              return [name, JSON.parse(`${value}`) as unknown]
            const micros = (value as { micros?: bigint } | null)?.micros
            return [name, micros === undefined ? value : new Date(Number(micros / 1000n)).toISOString()]
          }),
        ),
      )
      expect(found).toEqual(lines.map((line) => JSON.parse(line)))
    } finally {
      connection.closeSync()
      instance.closeSync()
      await rm(folder, { recursive: true })
    }
  })

  it('are exported as CSV without formulas', async () => {
    const filters: FilterRequest[] = [{ property: 'properties.n', op: 'lt', value: 2 }]
    const text = await world.text(place('events/export', { format: 'csv' }, filters))
    const [header, second, first, rest] = text.split('\r\n')
    expect(header).toBe(
      'eventId,eventName,timestamp,receivedAt,clientTimestamp,visitorId,userId,sessionId,profileId,shortLinkId,' +
        'shortLinkCode,properties,context,clickIds,warnings,cursor',
    )
    const properties = JSON.stringify({ n: 1, [KEY]: values[1] })
    expect(second).toContain(`,"${properties.replaceAll('"', '""')}",`)
    expect(first).toMatch(/^e0,common,2026-02-01T00:00:00.000Z,/)
    expect(rest).toBe('')
    // As bytes, because decoders remove the mark.
    const forExcel = await world.read(place('events/export', { format: 'csv', bom: 'true' }, filters))
    expect([...new Uint8Array(await forExcel.arrayBuffer()).subarray(0, 5)]).toEqual([
      0xef, 0xbb, 0xbf, 0x65, 0x76,
    ])
    expect(text).toContain(`,'=1+1,`)
    expect(text).toContain(`,"'-a,""b""",`)
  })

  // Last, because it changes the events.
  it('are exported from the cursor of an event that was removed since, without newer ones', async () => {
    const exported = async (query: Json) => {
      const lines = (await world.text(place('events/export', { limit: '10', ...query })))
        .trimEnd()
        .split('\n')
      return lines.map((line) => JSON.parse(line) as Json)
    }
    const last = (await exported({})).at(-1)
    const next = COUNT - 11
    expect(numbers([last ?? {}])).toEqual([next + 1])
    // What the event of the cursor and two that follow have in common with an erasure and the retention.
    const removed = [next + 1, next, next - 1].map((n) => eventKeyOf(`e${n}`))
    const { projectId } = world
    await world.platform.eventStore.eraseEvents(removed.map((eventKey) => ({ projectId, eventKey })))
    await write([eventOf(COUNT)])
    expect(numbers(await exported({ cursor: last?.cursor }))).toEqual(
      Array.from({ length: 10 }, (_, n) => next - 2 - n),
    )
    expect(numbers((await exported({})).slice(0, 1))).toEqual([COUNT])
  })
})
