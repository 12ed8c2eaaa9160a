import { promisify } from 'node:util'
import { zstdCompress, zstdDecompress } from 'node:zlib'
import kafkajs from 'kafkajs'

const compress = promisify(zstdCompress)
const decompress = promisify(zstdDecompress)

/** Teaches kafkajs Zstandard by Node's own implementation, which works off the event loop. */
export const registerZstd = (): void => {
  kafkajs.CompressionCodecs[kafkajs.CompressionTypes.ZSTD] = () => ({
    compress: (encoder: { buffer: Buffer }) => compress(encoder.buffer),
    decompress: (buffer: Buffer) => decompress(buffer),
  })
}
