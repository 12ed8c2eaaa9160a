import { randomBytes } from 'node:crypto'
import { mkdir, readFile, rename, writeFile } from 'node:fs/promises'
import path from 'node:path'

const USABLE = /^[\w-]{43}$/

/** The secret that signs unsubscribe links, drawn at the first start and kept in `file`: links in old emails have to work. */
export const keepMailSecret = async (file: string): Promise<string> => {
  const found = (await readFile(file, 'utf8').catch(() => '')).trim()
  if (USABLE.test(found)) return found
  const secret = randomBytes(32).toString('base64url')
  await mkdir(path.dirname(file), { recursive: true })
  // By renaming, so that a crash leaves a whole secret or none.
  await writeFile(`${file}.new`, `${secret}\n`, { mode: 0o600 })
  await rename(`${file}.new`, file)
  return secret
}
