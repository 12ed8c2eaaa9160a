import { randomBytes } from 'node:crypto'
import { readFile } from 'node:fs/promises'
import { ConfigError, writeFileAtomically } from '@waymark/service-kit'

const USABLE = /^[\w-]{43}$/

const read = async (file: string): Promise<string | undefined> => {
  try {
    return (await readFile(file, 'utf8')).trim()
  } catch (error) {
    const { code, message } = error as NodeJS.ErrnoException
    if (code === 'ENOENT') return undefined
    throw new ConfigError([`${file} cannot be read (${message}): let this user read it`])
  }
}

/**
 * A secret that signs. The first start generates it and keeps it in `file`.
 * @param loss what a new one would break
 * @throws ConfigError when the file has no valid secret
 */
export const keepSecret = async (file: string, loss: string): Promise<string> => {
  const found = await read(file)
  if (found !== undefined) {
    if (USABLE.test(found)) return found
    throw new ConfigError([
      `${file} must hold one secret of 43 letters, digits, "-" or "_", but holds ${found.length} characters: ` +
        `restore it from a backup, or delete it for a new secret; then ${loss}`,
    ])
  }
  const secret = randomBytes(32).toString('base64url')
  await writeFileAtomically(file, `${secret}\n`)
  return secret
}
