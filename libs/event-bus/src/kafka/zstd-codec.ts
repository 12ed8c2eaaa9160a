import { promisify } from 'node:util'
import { constants, zstdDecompress, zstdDecompressSync } from 'node:zlib'
import kafkajs from 'kafkajs'
import { ZstdCompress } from 'minizlib'

const decompress = promisify(zstdDecompress)

/** Up to this many bytes the way to another thread and back costs more than the work. */
const AT_ONCE_BYTES = 64 * 1024
const OPTIONS = {
  // As small as the default level makes records like ours, in half the time.
  params: { [constants.ZSTD_c_compressionLevel]: 1 },
  // Whatever is written becomes a frame of its own.
  flush: constants.ZSTD_e_end,
  // Node.js takes this many bytes at once for what comes out, in which several batches find room.
  chunkSize: 64 * 1024,
}

// Node's own `zstdCompressSync` makes another for each call, a third of the work.
let compressor: ZstdCompress | undefined

/**
 * Compresses into one frame of Zstandard. A full batch takes half a millisecond; on another thread it would take twice
 * as much CPU time, and longer.
 * @throws {Error} from `minizlib`, if there is not enough memory
 */
export const zstd = (bytes: Buffer): Buffer => {
  compressor ??= new ZstdCompress(OPTIONS)
  try {
    compressor.write(bytes)
    const frame = compressor.read()
    if (frame === null) throw new Error('Zstandard made no frame')
    return frame
  } catch (error) {
    compressor = undefined
    throw error
  }
}

/** Teaches kafkajs Zstandard by Node's own implementation; what is large is unpacked off the event loop. */
export const registerZstd = (): void => {
  kafkajs.CompressionCodecs[kafkajs.CompressionTypes.ZSTD] = () => ({
    compress: async ({ buffer }: { buffer: Buffer }) => zstd(buffer),
    decompress: async (buffer: Buffer) =>
      buffer.length <= AT_ONCE_BYTES ? zstdDecompressSync(buffer) : decompress(buffer),
  })
}
