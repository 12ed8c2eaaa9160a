import type { Validator } from '@waymark/contracts'
import type { Cache } from './port.ts'

/**
 * A value that a process stored in the cache as JSON, if it is valid. Undefined for anything else, such as a value of an
 * older version.
 */
export const readCopy = async <T>(
  cache: Pick<Cache, 'get'>,
  key: string,
  { fits }: Pick<Validator<T>, 'fits'>,
): Promise<T | undefined> => {
  const value = parse(await cache.get(key))
  return fits(value) ? value : undefined
}

const parse = (text: string | undefined): unknown => {
  if (text === undefined) return undefined
  try {
    return JSON.parse(text)
  } catch {
    return undefined
  }
}
