import { mkdtemp, rm, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import path from 'node:path'
import { DuckDBInstance } from '@duckdb/node-api'
import type { EventView } from '@waymark/contracts/http/events'
import { anEnrichedEvent } from '@waymark/testing/unit'
import fc from 'fast-check'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { EVENT_COLUMNS, type EventColumns } from './columns.ts'
import { writeParquet } from './parquet.ts'

type Row = { text: string | null; time: string | null; json: unknown }
const COLUMNS: EventColumns<Row> = { text: 'text', time: 'time', json: 'json' }

async function* portionsOf<T>(rows: readonly T[], size: number): AsyncGenerator<T[]> {
  for (let at = 0; at < rows.length; at += size) yield rows.slice(at, at + size)
}

describe('a Parquet file', () => {
  let folder: string
  let file: string
  let instance: DuckDBInstance
  beforeAll(async () => {
    folder = await mkdtemp(path.join(tmpdir(), 'parquet-'))
    file = path.join(folder, 'events.parquet')
    instance = await DuckDBInstance.create()
  })
  afterAll(async () => {
    instance.closeSync()
    await rm(folder, { recursive: true })
  })

  const write = async (pieces: AsyncIterable<Uint8Array>): Promise<void> => {
    const parts: Uint8Array[] = []
    for await (const piece of pieces) parts.push(piece)
    await writeFile(file, Buffer.concat(parts))
  }
  const query = async (sql: string): Promise<Record<string, unknown>[]> => {
    const connection = await instance.connect()
    try {
      return (await connection.runAndReadAll(sql)).getRowObjectsJson()
    } finally {
      connection.closeSync()
    }
  }
  /** The rows as DuckDB reads them, with times as milliseconds. */
  const readBack = () => query(`SELECT text, epoch_ms("time") AS "time", json FROM '${file}'`)

  const text = fc.option(fc.string({ unit: 'grapheme' }))
  const row = fc.record({
    text,
    time: fc.option(
      fc
        .date({ min: new Date('1970-01-01'), max: new Date('9999-12-31'), noInvalidDate: true })
        .map((at) => at.toISOString()),
    ),
    json: fc.option(fc.dictionary(fc.string(), fc.jsonValue())),
  })

  it('has the values of its rows when DuckDB reads it', () =>
    fc.assert(
      fc.asyncProperty(
        fc.array(row, { maxLength: 40 }),
        fc.integer({ min: 1, max: 9 }),
        async (rows, size) => {
          await write(writeParquet(COLUMNS, portionsOf<Row>(rows, size)))
          expect(await readBack()).toEqual(
            rows.map(({ text, time, json }) => ({
              text,
              time: time === null ? null : `${Date.parse(time)}`,
              json: json === null ? null : JSON.stringify(json),
            })),
          )
        },
      ),
      { numRuns: 50 },
    ))

  it('has the columns of an event with their types', async () => {
    const { event } = { event: anEnrichedEvent() }
    await write(writeParquet<EventView>(EVENT_COLUMNS, portionsOf([event], 1), () => ({ key: 'ä' })))
    const columns = await query(`DESCRIBE SELECT * FROM '${file}'`)
    expect(columns.map(({ column_name, column_type }) => [column_name, column_type])).toEqual(
      Object.entries(EVENT_COLUMNS).map(([name, type]) => [
        name,
        type === 'time' ? 'TIMESTAMP WITH TIME ZONE' : 'VARCHAR',
      ]),
    )
    const [found] = await query(
      `SELECT "eventId", properties->>'plan' AS plan, epoch_ms("receivedAt") AS received FROM '${file}'`,
    )
    expect(found).toEqual({
      eventId: event.eventId,
      plan: event.properties.plan ?? null,
      received: `${Date.parse(event.receivedAt)}`,
    })
    expect(
      await query(`SELECT decode("key") AS k, decode(value) AS v FROM parquet_kv_metadata('${file}')`),
    ).toEqual([{ k: 'key', v: 'ä' }])
  })

  const groupsOf = async (rows: readonly Row[]) => {
    let read = 0
    const readWithPieces: number[] = []
    async function* counted() {
      for await (const portion of portionsOf(rows, 100)) {
        read += portion.length
        yield portion
      }
    }
    async function* observed() {
      for await (const piece of writeParquet(COLUMNS, counted())) {
        readWithPieces.push(read)
        yield piece
      }
    }
    await write(observed())
    const groups = await query(
      `SELECT DISTINCT row_group_id, row_group_num_rows::int AS n FROM parquet_metadata('${file}') ORDER BY 1`,
    )
    return { groups: groups.map(({ n }) => n), readWithPieces }
  }
  const rowsOf = (count: number, text: string): Row[] =>
    Array.from({ length: count }, () => ({ text, time: null, json: null }))

  it.each([
    [0, []],
    [2_000, [2_000]],
    [2_001, [2_000, 1]],
  ])('has row groups of at most 2,000 rows: %i', async (count, expected) => {
    const { groups, readWithPieces } = await groupsOf(rowsOf(count, 'a'))
    expect(groups).toEqual(expected)
    // A group is sent before more rows are read.
    if (count > 0) expect(readWithPieces[0]).toBe(2_000)
  })

  it.each([14, 15, 16, 127, 128, 200])('lists %i row groups at its end', async (count) => {
    const { groups } = await groupsOf(rowsOf(count, 'a'.repeat(1024 * 1024)))
    expect(groups).toEqual(Array(count).fill(1))
    expect(await query(`SELECT count(*)::int AS n, max(length(text))::int AS length FROM '${file}'`)).toEqual(
      [{ n: count, length: 1024 * 1024 }],
    )
  })

  it('ends a row group with the row that reaches 256 KiB', async () => {
    const quarter = 'a'.repeat(64 * 1024)
    const { groups } = await groupsOf(rowsOf(9, quarter))
    expect(groups).toEqual([4, 4, 1])
    const less = await groupsOf(rowsOf(9, quarter.slice(1)))
    expect(less.groups).toEqual([5, 4])
  })
})
