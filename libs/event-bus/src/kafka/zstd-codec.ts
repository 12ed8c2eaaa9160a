import { promisify } from 'node:util'
import { constants, zstdCompressSync, zstdDecompress, zstdDecompressSync } from 'node:zlib'
import kafkajs from 'kafkajs'

const decompress = promisify(zstdDecompress)

/** Up to this many bytes the way to another thread and back costs more than the work. */
const AT_ONCE_BYTES = 64 * 1024
// As small as the default level makes records like ours, in half the time. The output comes in one piece.
const FAST = { chunkSize: 64 * 1024, params: { [constants.ZSTD_c_compressionLevel]: 1 } }

/**
 * Compresses with Zstandard. A full batch takes half a millisecond; on another thread it would take twice as much CPU
 * time, and longer.
 */
export const zstd = (bytes: Buffer): Buffer => zstdCompressSync(bytes, FAST)

/** Teaches kafkajs Zstandard by Node's own implementation; what is large is unpacked off the event loop. */
export const registerZstd = (): void => {
  kafkajs.CompressionCodecs[kafkajs.CompressionTypes.ZSTD] = () => ({
    compress: async ({ buffer }: { buffer: Buffer }) => zstd(buffer),
    decompress: async (buffer: Buffer) =>
      buffer.length <= AT_ONCE_BYTES ? zstdDecompressSync(buffer) : decompress(buffer),
  })
}
