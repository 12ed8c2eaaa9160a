import type { Validator } from '@waymark/contracts'
import type { Cache } from './port.ts'

/**
 * What a process left in the cache as JSON, if it has the shape that is expected. Anything else, such as what an older
 * version left or somebody else wrote, is as good as nothing.
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
