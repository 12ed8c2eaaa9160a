import { compileValidator } from '@waymark/contracts/validator'
import { describe, expect, it } from 'vitest'
import { createMemoryCache, readCopy } from './cache.ts'

const shape = compileValidator({ type: 'object', properties: { a: { type: 'integer' } }, required: ['a'] })

describe('a copy in the cache', () => {
  const readAs = async (text: string | undefined) => {
    const cache = createMemoryCache()
    if (text !== undefined) await cache.set('key', text, 1_000)
    return readCopy(cache, 'key', shape)
  }

  it('is read as written', async () => {
    expect(await readAs('{"a":1}')).toEqual({ a: 1 })
  })

  it.each([undefined, '', '{', 'null', '[]', '{}', '{"a":"1"}', '"a"'])(
    'is ignored when it is %j',
    async (text) => {
      expect(await readAs(text)).toBeUndefined()
    },
  )
})
