import { describe, expect, it, vi } from 'vitest'
import { createCompileOnce } from './compile-once.ts'

type Part = { name: string }

describe('compiling once', () => {
  const setUp = (maxSize: number) => {
    const compile = vi.fn(({ name }: Part) => ({ compiled: name }))
    return { compile, once: createCompileOnce<Part, object>(compile, { sizeOf: () => 9, maxSize }) }
  }

  it('knows a part again by its content', () => {
    const { compile, once } = setUp(100)
    const first = once({ name: 'a' })
    expect(once({ name: 'a' })).toBe(first)
    expect(once({ name: 'b' })).toEqual({ compiled: 'b' })
    expect(compile).toHaveBeenCalledTimes(2)
  })

  it('forgets what was used longest ago when the sizes exceed their limit', () => {
    const { compile, once } = setUp(20)
    once({ name: 'a' })
    once({ name: 'b' })
    once({ name: 'a' })
    expect(compile).toHaveBeenCalledTimes(2)
    once({ name: 'c' })
    once({ name: 'a' })
    expect(compile).toHaveBeenCalledTimes(3)
    once({ name: 'b' })
    expect(compile).toHaveBeenCalledTimes(4)
  })

  it('compiles again what failed', () => {
    const compile = vi.fn((_part: Part): object => {
      throw new Error('unusable')
    })
    const once = createCompileOnce(compile, { sizeOf: () => 1, maxSize: 10 })
    const part = { name: 'a' }
    expect(() => once(part)).toThrow('unusable')
    expect(() => once(part)).toThrow('unusable')
    expect(compile).toHaveBeenCalledTimes(2)
  })
})
