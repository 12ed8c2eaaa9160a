import { createReadStream } from 'node:fs'
import { mkdir, open, opendir, rename, rm } from 'node:fs/promises'
import path from 'node:path'
import { buffer } from 'node:stream/consumers'
import type { FileStore, S3Options } from './file-store.ts'

/** Makes sure that the names in a directory outlast a power cut. */
const syncDirectory = async (directory: string): Promise<void> => {
  if (process.platform === 'win32') return
  const handle = await open(directory, 'r')
  try {
    await handle.sync()
  } finally {
    await handle.close()
  }
}

/** The directories from `from` up to the parent of `to`. */
const directoriesUpTo = (from: string, to: string): string[] =>
  from === path.dirname(to) ? [from] : [from, ...directoriesUpTo(path.dirname(from), to)]

/** The files below a directory, if there is one. */
async function* filesBelow(directory: string): AsyncGenerator<string> {
  try {
    for await (const entry of await opendir(directory)) {
      const file = path.join(directory, entry.name)
      if (entry.isDirectory()) yield* filesBelow(file)
      else yield file
    }
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code !== 'ENOENT') throw error
  }
}

/** Keeps files in a directory, which it creates. */
export const createDirectoryStore = (directory: string): FileStore => {
  const pathOf = (name: string) => path.join(directory, ...name.split('/'))
  const read = async (name: string, range: { start?: number; end?: number } = {}) => {
    const stream = createReadStream(pathOf(name), range)
    try {
      await new Promise((resolve, reject) => stream.once('open', resolve).once('error', reject))
    } catch (error) {
      if ((error as NodeJS.ErrnoException).code === 'ENOENT') return undefined
      throw error
    }
    return stream
  }
  return {
    put: async (name, content, signal) => {
      const file = pathOf(name)
      const directory = path.dirname(file)
      const made = await mkdir(directory, { recursive: true })
      const unfinished = `${file}.new`
      try {
        const handle = await open(unfinished, 'w', 0o600)
        try {
          for await (const piece of content) {
            signal.throwIfAborted()
            // Unlike `write`, it does not stop after a part of the piece.
            await handle.writeFile(piece)
          }
          await handle.sync()
        } finally {
          await handle.close()
        }
        await rename(unfinished, file)
        for (const changed of made ? directoriesUpTo(directory, made) : [directory])
          await syncDirectory(changed)
      } catch (error) {
        await rm(unfinished, { force: true })
        throw error
      }
    },
    read: (name) => read(name),
    readRange: async (name, start, end) => {
      const stream = await read(name, { start, end: end - 1 })
      return stream && buffer(stream)
    },
    list: async function* (folder) {
      for await (const file of filesBelow(pathOf(folder)))
        yield path.relative(directory, file).replaceAll(path.sep, '/')
    },
    remove: async (name) => {
      const file = pathOf(name)
      try {
        // A process that was killed has left it.
        await rm(`${file}.new`, { force: true })
        await rm(file)
        await syncDirectory(path.dirname(file))
      } catch (error) {
        if ((error as NodeJS.ErrnoException).code !== 'ENOENT') throw error
      }
    },
    close: () => {},
  }
}

/** Opens a bucket. Its client is loaded only here, because most processes have no archive. */
export const openS3Store = async (options: S3Options): Promise<FileStore> => {
  const { createS3Store } = await import('./s3-store.ts')
  return createS3Store(options)
}
