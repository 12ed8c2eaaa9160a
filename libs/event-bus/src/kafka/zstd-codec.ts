import { promisify } from 'node:util'
import { constants, zstdCompressSync, zstdDecompress, zstdDecompressSync } from 'node:zlib'
import kafkajs from 'kafkajs'

const decompress = promisify(zstdDecompress)

/** Up to this many bytes the way to another thread and back costs more than the work. */
const AT_ONCE_BYTES = 64 * 1024
// As small as the default level makes records like ours, in half the time.
const FAST = { [constants.ZSTD_c_compressionLevel]: 1 }
/** What comes out is, of records that are alike, about this share of what goes in. */
const SHARE = 1 / 6
const MIN_CHUNK_BYTES = 1_024

/**
 * Compresses with Zstandard. A full batch takes half a millisecond; on another thread it would take twice as much CPU
 * time, and longer.
 */
export const zstd = (bytes: Buffer): Buffer =>
  zstdCompressSync(bytes, {
    params: FAST,
    // Node.js holds on to a chunk until it collects everything, and does that the sooner the larger they are.
    chunkSize: Math.max(MIN_CHUNK_BYTES, Math.ceil(bytes.length * SHARE)),
  })

/** Teaches kafkajs Zstandard by Node's own implementation; what is large is unpacked off the event loop. */
export const registerZstd = (): void => {
  kafkajs.CompressionCodecs[kafkajs.CompressionTypes.ZSTD] = () => ({
    compress: async ({ buffer }: { buffer: Buffer }) => zstd(buffer),
    decompress: async (buffer: Buffer) =>
      buffer.length <= AT_ONCE_BYTES ? zstdDecompressSync(buffer) : decompress(buffer),
  })
}
