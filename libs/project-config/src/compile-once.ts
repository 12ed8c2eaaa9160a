import { hash } from 'node:crypto'
import { LRUCache } from 'lru-cache'

/**
 * Compiles parts of configurations and remembers them by their content, since projects are read again whenever anything
 * of theirs changes. What was used last is kept, as long as the sizes add up to `maxSize`.
 * @param compile may throw; that is not remembered
 */
export const createCompileOnce = <Part extends object, Compiled extends object>(
  compile: (part: Part) => Compiled,
  { sizeOf, maxSize }: { sizeOf: (part: Part) => number; maxSize: number },
): ((part: Part) => Compiled) => {
  const compiled = new LRUCache<string, Compiled>({ maxSize })
  const contents = new WeakMap<Part, string>()

  const contentOf = (part: Part): string => {
    const known = contents.get(part)
    if (known !== undefined) return known
    const content = hash('sha256', JSON.stringify(part), 'base64url')
    contents.set(part, content)
    return content
  }

  return (part) => {
    const content = contentOf(part)
    const known = compiled.get(content)
    if (known !== undefined) return known
    const fresh = compile(part)
    compiled.set(content, fresh, { size: 1 + Math.ceil(sizeOf(part)) })
    return fresh
  }
}
