import {
  type FileHandle,
  mkdir,
  mkdtemp,
  open as openFile,
  readdir,
  readlink,
  rm,
  writeFile,
} from 'node:fs/promises'
import { tmpdir } from 'node:os'
import path from 'node:path'
import { buffer } from 'node:stream/consumers'
import { CLOSED_PORT, hasS3Server, type S3Server, startS3Server } from '@waymark/testing'
import { afterAll, beforeAll, describe, expect, it, vi } from 'vitest'
import { createDirectoryStore, type FileStore, openS3Store } from '../src/index.ts'

const never = new AbortController().signal

it.runIf(!hasS3Server && process.env.CI)('has an S3 server in CI', () => {
  expect.fail('No S3 server is installed: run libs/event-files/tests/install-versitygw.sh')
})

async function* pieces(count: number, bytes: number): AsyncGenerator<Uint8Array> {
  for (let n = 0; n < count; n++) yield Buffer.alloc(bytes, n)
}

const behavesAsStore = (open: () => FileStore | Promise<FileStore>, folder: () => string) => {
  it('keeps a file with its content, and replaces it', async () => {
    const store = await open()
    await store.put('events/date=2026-02-01/a.parquet', pieces(3, 5), never)
    const first = await store.read('events/date=2026-02-01/a.parquet')
    expect(first && (await buffer(first))).toEqual(Buffer.from([0, 0, 0, 0, 0, 1, 1, 1, 1, 1, 2, 2, 2, 2, 2]))
    await store.put('events/date=2026-02-01/a.parquet', pieces(1, 1), never)
    const second = await store.read('events/date=2026-02-01/a.parquet')
    expect(second && (await buffer(second))).toEqual(Buffer.from([0]))
    store.close()
  })

  it('keeps a file of several parts', async () => {
    const store = await open()
    await store.put('large', pieces(17, 1024 * 1024), never)
    const content = await store.read('large')
    // Comparing them by byte, as `toEqual` does, takes many seconds.
    expect(content && (await buffer(content)).equals(await buffer(pieces(17, 1024 * 1024)))).toBe(true)
    store.close()
  })

  it('reads a part of a file', async () => {
    const store = await open()
    await store.put('parts', pieces(4, 3), never)
    const part = async (start: number, end: number) => {
      const bytes = await store.readRange('parts', start, end)
      return bytes && [...bytes]
    }
    expect(await part(0, 1)).toEqual([0])
    expect(await part(2, 7)).toEqual([0, 1, 1, 1, 2])
    expect(await part(11, 12)).toEqual([3])
    expect(await part(11, 20)).toEqual([3])
    expect(await store.readRange('no-parts', 0, 1)).toBeUndefined()
    store.close()
  })

  it('does not find a file that was removed or never written', async () => {
    const store = await open()
    await store.put('removed', pieces(1, 1), never)
    await store.remove('removed')
    await store.remove('never-written')
    expect(await store.read('removed')).toBeUndefined()
    store.close()
  })

  it('lists the files of a folder, in all portions of the answer', async () => {
    const store = await open()
    const names = Array.from({ length: 1_001 }, (_, n) => `listed/${n % 3}/${n}`)
    await store.put('listed-beside/a', pieces(1, 1), never)
    await store.put('listed/0/0', pieces(1, 1), never)
    // As files, which takes less time.
    for (const name of names) {
      await mkdir(path.join(folder(), path.dirname(name)), { recursive: true })
      await writeFile(path.join(folder(), name), 'x')
    }
    expect((await Array.fromAsync(store.list('listed'))).toSorted()).toEqual(names.toSorted())
    expect(await Array.fromAsync(store.list('no-folder'))).toEqual([])
    store.close()
  })

  it('stores no file whose content fails to be read completely', async () => {
    const store = await open()
    async function* broken(): AsyncGenerator<Uint8Array> {
      yield* pieces(9, 1024 * 1024)
      throw new Error('the database is unavailable')
    }
    await expect(store.put('broken', broken(), never)).rejects.toThrow('the database is unavailable')
    expect(await store.read('broken')).toBeUndefined()
    const stopped = AbortSignal.abort(new Error('stopped'))
    await expect(store.put('stopped', pieces(1, 1), stopped)).rejects.toThrow()
    expect(await store.read('stopped')).toBeUndefined()
    expect(await readdir(folder())).not.toContain('broken')
    store.close()
  })
}

describe('a store in a directory', () => {
  let folder: string
  beforeAll(async () => {
    folder = await mkdtemp(path.join(tmpdir(), 'store-'))
  })
  afterAll(() => rm(folder, { recursive: true }))
  behavesAsStore(
    () => createDirectoryStore(folder),
    () => folder,
  )

  it.runIf(process.platform === 'linux')(
    'makes names outlast a power cut, also those of folders',
    async () => {
      const store = createDirectoryStore(folder)
      const handle = await openFile(folder, 'r')
      const synced: string[] = []
      const sync = vi
        .spyOn(Object.getPrototypeOf(handle) as FileHandle, 'sync')
        .mockImplementation(async function (this: FileHandle) {
          synced.push(path.relative(folder, await readlink(`/proc/self/fd/${this.fd}`)))
        })
      try {
        await store.put('new/date/a', pieces(1, 1), never)
        expect(synced.splice(0)).toEqual(['new/date/a.new', 'new/date', 'new', ''])
        await store.put('new/date/b', pieces(1, 1), never)
        expect(synced.splice(0)).toEqual(['new/date/b.new', 'new/date'])
        await store.remove('new/date/b')
        expect(synced.splice(0)).toEqual(['new/date'])
      } finally {
        sync.mockRestore()
        await handle.close()
      }
    },
  )
})

describe.skipIf(!hasS3Server)('a store in a bucket', () => {
  let server: S3Server
  beforeAll(async () => {
    server = await startS3Server()
  })
  afterAll(() => server?.stop())
  const open = (changes: { endpoint?: string; secretAccessKey?: string } = {}) => {
    const { bucket, region, endpoint, accessKeyId, secretAccessKey } = server
    return openS3Store({
      bucket,
      prefix: 'waymark/',
      region,
      endpoint,
      accessKeyId,
      secretAccessKey,
      ...changes,
    })
  }
  behavesAsStore(open, () => path.join(server.folder, 'waymark'))

  it('fails with another secret, and while the server is unavailable', async () => {
    const refused = await open({ secretAccessKey: 'other' })
    await expect(refused.put('a', pieces(1, 1), never)).rejects.toThrow()
    const away = await open({ endpoint: `http://127.0.0.1:${CLOSED_PORT}` })
    await expect(away.put('a', pieces(1, 1), never)).rejects.toThrow()
    await expect(away.read('a')).rejects.toThrow()
  })
})
