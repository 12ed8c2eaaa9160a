import { randomBytes } from 'node:crypto'
import { mkdtemp, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import path from 'node:path'
import { DuckDBInstance } from '@duckdb/node-api'
import fc from 'fast-check'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import {
  countParquetRows,
  createDirectoryStore,
  type EventColumns,
  type FileStore,
  readParquetColumn,
  rewriteParquet,
  writeParquet,
} from '../src/index.ts'

type Row = { text: string | null; time: string | null; json: unknown }
const COLUMNS: EventColumns<Row> = { text: 'text', time: 'time', json: 'json' }
const never = new AbortController().signal

describe('reading Parquet from a store', () => {
  let folder: string
  let store: FileStore
  let instance: DuckDBInstance
  beforeAll(async () => {
    folder = await mkdtemp(path.join(tmpdir(), 'parquet-'))
    store = createDirectoryStore(folder)
    instance = await DuckDBInstance.create()
  })
  afterAll(async () => {
    instance.closeSync()
    await rm(folder, { recursive: true })
  })

  /** Writes a file, and returns its size. */
  const put = async (name: string, pieces: AsyncIterable<Uint8Array>): Promise<number> => {
    let bytes = 0
    async function* counted() {
      for await (const piece of pieces) {
        bytes += piece.byteLength
        yield piece
      }
    }
    await store.put(name, counted(), never)
    return bytes
  }
  async function* portion(rows: readonly Row[]): AsyncGenerator<readonly Row[]> {
    yield rows
  }
  const query = async (sql: string): Promise<unknown[]> => {
    const connection = await instance.connect()
    try {
      return (await connection.runAndReadAll(sql)).getRowObjectsJson()
    } finally {
      connection.closeSync()
    }
  }
  const readBack = (name: string) => query(`SELECT text, time, json FROM read_parquet('${folder}/${name}')`)

  const row = fc.record({
    text: fc.option(fc.string({ unit: 'grapheme' })),
    time: fc.option(
      fc
        .date({ min: new Date('1970-01-01'), max: new Date('9999-12-31'), noInvalidDate: true })
        .map((at) => at.toISOString()),
    ),
    json: fc.option(fc.jsonValue()),
  })

  it('keeps rows as they are, as DuckDB reads them', () =>
    fc.assert(
      fc.asyncProperty(fc.array(row, { maxLength: 30 }), async (rows) => {
        const bytes = await put('all', writeParquet(COLUMNS, portion(rows)))
        expect(await countParquetRows(store, 'all', bytes)).toBe(rows.length)
        let n = 0
        await put(
          'some',
          rewriteParquet(store, 'all', bytes, () => n++ % 2 === 0),
        )
        const kept = rows.filter((_, index) => index % 2 === 0)
        await put('expected', writeParquet(COLUMNS, portion(kept)))
        expect(await readBack('some')).toEqual(await readBack('expected'))
        const schema = (name: string) =>
          query(`SELECT name, type, converted_type FROM parquet_schema('${folder}/${name}')`)
        expect(await schema('some')).toEqual(await schema('all'))
      }),
      { numRuns: 50 },
    ))

  it('reads files that are larger than a part, group by group', async () => {
    // 30 MB that cannot be compressed much: several parts, each with several groups.
    const rows = Array.from({ length: 30 }, (_, n) => ({
      text: `${n}`,
      time: null,
      json: randomBytes(512 * 1024).toString('hex'),
    }))
    const bytes = await put('large', writeParquet(COLUMNS, portion(rows)))
    expect(bytes).toBeGreaterThan(2 * 8 * 1024 * 1024 - 1)
    const groups = await Array.fromAsync(readParquetColumn(store, 'large', bytes, 'text'))
    expect(groups.length).toBeGreaterThan(5)
    expect(groups.flat()).toEqual(rows.map(({ text }) => text))
    await put(
      'less',
      rewriteParquet(store, 'large', bytes, (one) => one.text !== '7'),
    )
    expect(await readBack('less')).toEqual(
      rows.filter(({ text }) => text !== '7').map((one) => ({ ...one, json: JSON.stringify(one.json) })),
    )
  })

  it('fails for a file that is missing, cut off or another', async () => {
    await expect(countParquetRows(store, 'none', 100)).rejects.toThrow('none is missing or too short')
    async function* other() {
      yield Buffer.alloc(100)
    }
    await put('other', other())
    await expect(countParquetRows(store, 'other', 100)).rejects.toThrow('parquet file invalid')
    await expect(countParquetRows(store, 'other', 101)).rejects.toThrow('other is missing or too short')
  })
})
