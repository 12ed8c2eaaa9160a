import { constants, gzipSync } from 'node:zlib'
import { ByteWriter, ParquetWriter, type SchemaElement } from 'hyparquet-writer'
import type { EventColumns } from './columns.ts'
import { createFooter } from './parquet-footer.ts'

/**
 * A row group is in memory, and encoded without a pause, which takes some 15 ms. It ends with the row that reaches one of
 * these.
 */
const MAX_GROUP_ROWS = 2_000
const MAX_GROUP_CHARACTERS = 256 * 1024

// DuckDB 1.5 reads wrong values from files with ZSTD on machines with many cores. Snappy files are five times as large.
const compress = (bytes: Uint8Array): Uint8Array => gzipSync(bytes, { level: constants.Z_BEST_SPEED })

/** Keeps only the bytes that were not yet taken. */
class StreamWriter extends ByteWriter {
  take(): Uint8Array {
    const bytes = this.getBytes().slice()
    this.index = 0
    return bytes
  }
}

type ColumnType = EventColumns<Record<string, unknown>>[string]

const schemaOf = (name: string, type: ColumnType): SchemaElement =>
  type === 'time'
    ? {
        name,
        type: 'INT64',
        converted_type: 'TIMESTAMP_MILLIS',
        logical_type: { type: 'TIMESTAMP', isAdjustedToUTC: true, unit: 'MILLIS' },
        repetition_type: 'OPTIONAL',
      }
    : { name, type: 'BYTE_ARRAY', converted_type: 'UTF8', repetition_type: 'OPTIONAL' }

const cellOf = (value: unknown, type: ColumnType): string | bigint | null => {
  if (value === null || value === undefined) return null
  if (type === 'time') return BigInt(Date.parse(value as string))
  return type === 'json' ? JSON.stringify(value) : (value as string)
}

/**
 * A Parquet file, one row group at a time. Of a written row group some 1.5 KB stay in memory, for the end of the file.
 * @param metadata read after the last row: key-value metadata of the file
 */
export async function* writeParquet<Row extends object>(
  columns: EventColumns<Row>,
  portions: AsyncIterable<readonly Row[]>,
  metadata: () => Record<string, string> = () => ({}),
): AsyncGenerator<Uint8Array> {
  const parts = (Object.entries(columns) as [keyof Row & string, ColumnType][]).map(([name, type]) => ({
    name,
    type,
    data: [] as (string | bigint | null)[],
  }))
  const target = new StreamWriter()
  const schema: SchemaElement[] = [
    { name: 'root', num_children: parts.length },
    ...parts.map(({ name, type }) => schemaOf(name, type)),
  ]
  const file = new ParquetWriter({
    writer: target,
    schema,
    codec: 'GZIP',
    compressors: { GZIP: compress },
  })
  const footer = createFooter({ version: 2, created_by: 'waymark', schema })
  let rowsInGroup = 0
  let characters = 0
  const endGroup = (): Uint8Array => {
    void file.write({
      columnData: parts.map(({ name, type, data }) => ({
        name,
        data,
        // Rows are in the order of time, so only the statistics of times let a query skip groups.
        statistics: type === 'time',
        offsetIndex: false,
      })),
      rowGroupSize: rowsInGroup,
    })
    for (const group of file.row_groups.splice(0)) footer.add(group)
    file.pendingIndexes.length = 0
    for (const part of parts) part.data = []
    rowsInGroup = 0
    characters = 0
    return target.take()
  }
  for await (const rows of portions)
    for (const row of rows) {
      for (const { name, type, data } of parts) {
        const cell = cellOf(row[name], type)
        data.push(cell)
        if (typeof cell === 'string') characters += cell.length
      }
      rowsInGroup++
      if (rowsInGroup >= MAX_GROUP_ROWS || characters >= MAX_GROUP_CHARACTERS) yield endGroup()
    }
  if (rowsInGroup > 0) yield endGroup()
  // A file without row groups has its first bytes yet to be sent.
  const start = target.take()
  if (start.length > 0) yield start
  yield* footer.bytes(Object.entries(metadata()).map(([key, value]) => ({ key, value })))
}
