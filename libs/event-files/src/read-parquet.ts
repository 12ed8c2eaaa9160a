import { gunzipSync } from 'node:zlib'
import {
  type AsyncBuffer,
  type FileMetaData,
  parquetMetadataAsync,
  parquetReadObjects,
  type SchemaElement,
} from 'hyparquet'
import type { EventColumns } from './columns.ts'
import type { FileStore } from './file-store.ts'
import { writeParquet } from './parquet.ts'

/** Parts of a file are read in their order, so one request reads this many bytes ahead. */
const READ_AHEAD_BYTES = 8 * 1024 * 1024

/** A row whose objects are JSON texts and whose times are RFC 3339, as they are in the file. */
export type FileRow = Readonly<Record<string, string | null>>

const compressors = { GZIP: (input: Uint8Array) => gunzipSync(input) }
const parsers = { timestampFromMilliseconds: (ms: bigint) => new Date(Number(ms)).toISOString() }

/** A Parquet file in a store, of which at most one part is in memory. */
const openParquet = (store: FileStore, name: string, bytes: number): AsyncBuffer => {
  let part: Uint8Array = new Uint8Array(0)
  let from = 0
  return {
    byteLength: bytes,
    slice: async (start, end = bytes) => {
      if (start < from || end > from + part.byteLength) {
        const read = await store.readRange(
          name,
          start,
          Math.min(bytes, Math.max(end, start + READ_AHEAD_BYTES)),
        )
        if (!read || read.byteLength < end - start) throw new Error(`${name} is missing or too short`)
        part = read
        from = start
      }
      // A copy, because a buffer may be part of a larger one.
      return new Uint8Array(part.subarray(start - from, end - from)).buffer
    },
  }
}

/**
 * The number of rows that a Parquet file says to have.
 * @param bytes its size
 * @throws Error when it is missing or no Parquet file
 */
export const countParquetRows = async (store: FileStore, name: string, bytes: number): Promise<number> =>
  Number((await parquetMetadataAsync(openParquet(store, name, bytes))).num_rows)

/** The rows of each row group, with some or all of their columns. */
async function* readGroups(
  file: AsyncBuffer,
  metadata: FileMetaData,
  columns?: string[],
): AsyncGenerator<FileRow[]> {
  let rowStart = 0
  for (const group of metadata.row_groups) {
    const rowEnd = rowStart + Number(group.num_rows)
    const range = { file, metadata, compressors, parsers, rowStart, rowEnd }
    yield (await parquetReadObjects(columns ? { ...range, columns } : range)) as FileRow[]
    rowStart = rowEnd
  }
}

const columnsOf = ({ schema }: FileMetaData): EventColumns<FileRow> =>
  Object.fromEntries(
    schema.slice(1).map(({ name, type }: SchemaElement) => [name, type === 'INT64' ? 'time' : 'text']),
  )

/** The values of a column of a Parquet file, a row group at a time. */
export async function* readParquetColumn(
  store: FileStore,
  name: string,
  bytes: number,
  column: string,
): AsyncGenerator<(string | null)[]> {
  const file = openParquet(store, name, bytes)
  for await (const rows of readGroups(file, await parquetMetadataAsync(file), [column]))
    yield rows.map((row) => row[column] ?? null)
}

/** A Parquet file with those rows of another that are kept, with the same columns. */
export async function* rewriteParquet(
  store: FileStore,
  name: string,
  bytes: number,
  isKept: (row: FileRow) => boolean,
): AsyncGenerator<Uint8Array> {
  const file = openParquet(store, name, bytes)
  const metadata = await parquetMetadataAsync(file)
  async function* kept(): AsyncGenerator<FileRow[]> {
    for await (const rows of readGroups(file, metadata)) yield rows.filter(isKept)
  }
  yield* writeParquet(columnsOf(metadata), kept())
}
