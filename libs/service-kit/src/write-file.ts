import { mkdir, rename, writeFile } from 'node:fs/promises'
import path from 'node:path'

/**
 * Replaces a file that only its owner may read, and creates its directory. A crash leaves the old content or the new one,
 * never a part.
 */
export const writeFileAtomically = async (file: string, content: string | Buffer): Promise<void> => {
  await mkdir(path.dirname(file), { recursive: true })
  await writeFile(`${file}.new`, content, { mode: 0o600, flush: true })
  await rename(`${file}.new`, file)
}
