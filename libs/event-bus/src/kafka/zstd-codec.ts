import { promisify } from 'node:util'
import { constants, zstdCompress, zstdCompressSync, zstdDecompress, zstdDecompressSync } from 'node:zlib'
import kafkajs from 'kafkajs'

const compress = promisify(zstdCompress)
const decompress = promisify(zstdDecompress)

/** Up to this many bytes the way to another thread and back costs more than the work. */
const AT_ONCE_BYTES = 64 * 1024
// As small as the default level makes records like ours, in half the time.
const FAST = { params: { [constants.ZSTD_c_compressionLevel]: 1 } }

/** Compresses with Zstandard; what is large off the event loop. */
export const zstd = (bytes: Buffer): Buffer | Promise<Buffer> =>
  bytes.length <= AT_ONCE_BYTES ? zstdCompressSync(bytes, FAST) : compress(bytes, FAST)

/** Teaches kafkajs Zstandard by Node's own implementation; large batches are worked on off the event loop. */
export const registerZstd = (): void => {
  kafkajs.CompressionCodecs[kafkajs.CompressionTypes.ZSTD] = () => ({
    compress: async ({ buffer }: { buffer: Buffer }) => zstd(buffer),
    decompress: async (buffer: Buffer) =>
      buffer.length <= AT_ONCE_BYTES ? zstdDecompressSync(buffer) : decompress(buffer),
  })
}
