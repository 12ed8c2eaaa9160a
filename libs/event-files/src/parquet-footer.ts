import type { FileMetaData, KeyValue, RowGroup } from 'hyparquet'
import { ByteWriter } from 'hyparquet-writer'
import { writeMetadata } from 'hyparquet-writer/src/metadata.js'

const MAGIC = Buffer.from('PAR1')
const LENGTH_BYTES = 4
const NO_COLUMNS: RowGroup = { columns: [], num_rows: 0n, total_byte_size: 0n }

/** The metadata of a file as the library encodes it, without its length. */
const encode = (metadata: FileMetaData): Uint8Array => {
  const writer = new ByteWriter()
  writeMetadata(writer, metadata)
  return writer.getBytes().slice(0, -LENGTH_BYTES)
}

/** Where the list of row groups begins in metadata without any: the first byte that one of them changes. */
const positionOfList = (empty: Uint8Array, other: Uint8Array): number =>
  empty.findIndex((byte, index) => byte !== other[index])

/** The beginning of a list of structs in Thrift's compact protocol. */
const listHeader = (size: number): Uint8Array => {
  const writer = new ByteWriter()
  const isStruct = 12
  writer.appendUint8((Math.min(size, 15) << 4) | isStruct)
  if (size > 14) writer.appendVarInt(size)
  return writer.getBytes()
}

/**
 * The end of a Parquet file, which says where its row groups are. A row group is kept as the file will have it, because the
 * objects of the library take ten times as much memory, and a file of any length has to keep all of them.
 */
export const createFooter = (file: Pick<FileMetaData, 'version' | 'created_by' | 'schema'>) => {
  const groups: Uint8Array[] = []
  let rows = 0n
  const encodeWith = (row_groups: RowGroup[], key_value_metadata: KeyValue[] = []): Uint8Array =>
    encode({ ...file, num_rows: rows, row_groups, key_value_metadata, metadata_length: 0 })

  return {
    add: (group: RowGroup): void => {
      const [empty, other] = [encodeWith([]), encodeWith([group])]
      const start = positionOfList(empty, other) + 1
      groups.push(other.slice(start, start + other.length - empty.length))
      rows += group.num_rows
    },

    /** The bytes after the last row group. */
    *bytes(metadata: KeyValue[]): Generator<Uint8Array> {
      const empty = encodeWith([], metadata)
      const position = positionOfList(empty, encodeWith([NO_COLUMNS], metadata))
      const parts = [
        empty.subarray(0, position),
        listHeader(groups.length),
        ...groups,
        empty.subarray(position + 1),
      ]
      yield* parts
      const length = Buffer.alloc(LENGTH_BYTES)
      length.writeUInt32LE(parts.reduce((bytes, part) => bytes + part.length, 0))
      yield Buffer.concat([length, MAGIC])
    },
  }
}
