/** The prefix of a message in gRPC: whether it is compressed, and its length. */
const PREFIX_BYTES = 5

/** The type of text, bytes and messages in Protocol Buffers. */
const LENGTH_DELIMITED = 2

/** A message of gRPC with its prefix. */
export const messageFrame = (message: Buffer): Buffer => {
  const prefix = Buffer.alloc(PREFIX_BYTES)
  prefix.writeUInt32BE(message.length, 1)
  return Buffer.concat([prefix, message])
}

/** The message in a frame. @throws Error when it is compressed or not whole */
export const messageIn = (frame: Buffer): Buffer => {
  if (frame.length < PREFIX_BYTES) throw new Error('The message is not whole')
  if (frame[0] !== 0) throw new Error('Compressed messages are not supported')
  const message = frame.subarray(PREFIX_BYTES)
  if (message.length !== frame.readUInt32BE(1)) throw new Error('The message is not whole')
  return message
}

/** A field of Protocol Buffers with text, bytes or a message. */
export const lengthDelimited = (field: number, bytes: Buffer): Buffer =>
  Buffer.concat([varint((field << 3) | LENGTH_DELIMITED), varint(bytes.length), bytes])

const varint = (value: number): Buffer => {
  const bytes: number[] = []
  let rest = value
  while (rest > 0x7f) {
    bytes.push((rest & 0x7f) | 0x80)
    rest >>>= 7
  }
  return Buffer.of(...bytes, rest)
}

/** The texts of a message, by field. Fields of other types are left out. @throws Error when it is not a message */
export const textsIn = (message: Buffer): Map<number, string> => {
  const texts = new Map<number, string>()
  let at = 0
  const readVarint = (): number => {
    let value = 0
    for (let shift = 0; shift < 32; shift += 7) {
      const byte = message[at++]
      if (byte === undefined) break
      value += (byte & 0x7f) * 2 ** shift
      if (byte < 0x80) return value
    }
    throw new Error('The message has no number where one belongs')
  }
  while (at < message.length) {
    const tag = readVarint()
    const type = tag & 7
    if (type === 0) readVarint()
    else if (type === 1) at += 8
    else if (type === 5) at += 4
    else if (type === LENGTH_DELIMITED) {
      const length = readVarint()
      if (at + length > message.length) throw new Error('The message ends within a field')
      texts.set(tag >>> 3, message.toString('utf8', at, at + length))
      at += length
    } else throw new Error(`The message has a field of the unknown type ${type}`)
  }
  return texts
}
