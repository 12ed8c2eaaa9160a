import { createReadStream } from 'node:fs'
import { createInterface } from 'node:readline'

/** The options with which strace prints the system calls that `remainsAfter` reads. */
export const TRACING = [
  ...['-f', '-y', '-xx', '-s', '100000000'],
  ...['-e', 'trace=openat,write,pwrite64,ftruncate,fsync,fdatasync,unlink,rename'],
]

/** What a power loss at some moment would have left of the files of a process. */
export type Remains = {
  /** The lines that the process had printed. */
  printed: number
  /** The files that it had removed. */
  removed: number
  /** What was synced of each file. */
  files: ReadonlyMap<string, Buffer>
}

type Change = (disk: Buffer) => Buffer
/** A file as it was synced, the changes since, and its size with them. */
type TracedFile = { synced: Buffer; changes: Change[]; size: number }

const CALL = /^\d+ +(\w+)\(([^,)]*)(?:, (.*))?/
const ofHex = (text: string): Buffer => Buffer.from(text.replaceAll('\\x', ''), 'hex')
const inQuotes = (text = ''): Buffer => ofHex(/"([^"]*)"/.exec(text)?.[1] ?? '')

const writeAt =
  (at: number, bytes: Buffer): Change =>
  (disk) => {
    const written = Buffer.concat([disk, Buffer.alloc(Math.max(0, at + bytes.length - disk.length))])
    bytes.copy(written, at)
    return written
  }

/**
 * Replays the calls that strace has written to a file. Yields what a power loss would leave of the files in `folder`, if it
 * dropped everything that was not synced, after each printed line and each call that makes a change last. The creation of
 * a file lasts once the file is synced, as on ext4 and XFS, and its removal at once.
 */
export async function* remainsAfter(trace: string, folder: string): AsyncGenerator<Remains> {
  const files = new Map<string, TracedFile>()
  let [printed, removed] = [0, 0]
  const fileOf = (name: string): TracedFile => {
    const file = files.get(name) ?? { synced: Buffer.alloc(0), changes: [], size: 0 }
    files.set(name, file)
    return file
  }
  const write = (file: TracedFile, at: number, bytes: Buffer): void => {
    file.changes.push(writeAt(at, bytes))
    file.size = Math.max(file.size, at + bytes.length)
  }
  /** Returns whether a change lasts now. */
  const replay = (call: string, name: string, rest: string): boolean => {
    if (call === 'unlink') {
      removed++
      return files.delete(name)
    }
    const file = fileOf(name)
    if (call === 'write') write(file, file.size, inQuotes(rest))
    else if (call === 'pwrite64') write(file, Number(/, (\d+)\)? /.exec(rest)?.[1]), inQuotes(rest))
    else if (call === 'ftruncate') {
      file.size = Number.parseInt(rest, 10)
      file.changes.push((disk) => disk.subarray(0, file.size))
    } else if (call === 'fsync' || call === 'fdatasync') {
      file.synced = file.changes.reduce((disk, change) => change(disk), file.synced)
      file.changes = []
      return true
    } else throw new Error(`This call is not replayed: ${call}`)
    return false
  }
  for await (const line of createInterface({ input: createReadStream(trace, 'latin1') })) {
    const [, call = '', first = '', rest = ''] = CALL.exec(line) ?? []
    const isPrinted = call === 'write' && first.startsWith('1<')
    if (isPrinted) printed++
    const name = (first.startsWith('"') ? inQuotes(first) : ofHex(/<(.*)>/.exec(first)?.[1] ?? '')).toString()
    const isReplayed = call !== 'openat' && name.startsWith(folder)
    if (isPrinted || (isReplayed && replay(call, name, rest)))
      yield { printed, removed, files: new Map([...files].map(([of, { synced }]) => [of, synced])) }
  }
}
