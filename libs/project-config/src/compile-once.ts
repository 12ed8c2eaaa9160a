import { hash } from 'node:crypto'
import { LRUCache } from 'lru-cache'

/**
 * Compiles parts of configurations and caches them by their content, because a project is read again whenever anything
 * in it changes. When the sizes add up to more than `maxSize`, the least recently used are evicted.
 * @param compile may throw; a failure is not cached
 */
export const createCompileOnce = <Part extends object, Compiled extends object>(
  compile: (part: Part) => Compiled,
  { sizeOf, maxSize }: { sizeOf: (part: Part) => number; maxSize: number },
): ((part: Part) => Compiled) => {
  const compiled = new LRUCache<string, Compiled, object>({
    maxSize,
    memoMethod: (_hash, _known, { options, context }) => {
      // The types of lru-cache do not take a context of a generic type.
      const part = context as Part
      options.size = 1 + Math.ceil(sizeOf(part))
      return compile(part)
    },
  })
  const hashes = new WeakMap<Part, string>()

  const hashOf = (part: Part): string => {
    const known = hashes.get(part)
    if (known !== undefined) return known
    const fresh = hash('sha256', JSON.stringify(part), 'base64url')
    hashes.set(part, fresh)
    return fresh
  }

  return (part) => compiled.memo(hashOf(part), { context: part })
}
