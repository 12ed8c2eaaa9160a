import fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import { createPatch as createPatchInTurns, type PatchOperation } from './json-patch.ts'

const createPatch = (before: unknown, after: unknown) =>
  createPatchInTurns(before, after, { isOver: () => false, next: async () => {} })

/** Applies a patch as RFC 6902 says, and checks `was`. */
const apply = (document: unknown, patch: readonly PatchOperation[]): unknown => {
  let root = structuredClone(document)
  for (const operation of patch) {
    const names = operation.path
      .split('/')
      .slice(1)
      .map((name) => name.replaceAll('~1', '/').replaceAll('~0', '~'))
    const last = names.pop()
    if (last === undefined) {
      if (operation.op !== 'replace') throw new Error('Only a replacement has an empty path')
      expect(operation.was).toEqual(root)
      root = operation.value
      continue
    }
    const parent = names.reduce((value, name) => Reflect.get(Object(value), name), root) as object
    if (operation.op !== 'add') expect(Reflect.get(parent, last)).toEqual(operation.was)
    if (Array.isArray(parent)) {
      const place = Number(last)
      expect(place).toBeLessThanOrEqual(parent.length)
      if (operation.op === 'remove') parent.splice(place, 1)
      else parent.splice(place, operation.op === 'add' ? 0 : 1, operation.value)
    } else if (operation.op === 'remove') Reflect.deleteProperty(parent, last)
    else Reflect.set(parent, last, operation.value)
  }
  return root
}

describe('a JSON Patch', () => {
  it('turns one value into the other', async () => {
    const json = fc.jsonValue({ maxDepth: 4 })
    // Assigning to `__proto__` would change the prototype. Stored JSON has no such member.
    const without = (name: string, value: unknown) => (name === '__proto__' ? undefined : value)
    const plain = (value: unknown): unknown => JSON.parse(JSON.stringify(value, without))
    await fc.assert(
      fc.asyncProperty(json, json, async (one, other) => {
        const [before, after] = [plain(one), plain(other)]
        expect(apply(before, await createPatch(before, after))).toEqual(after)
        expect(await createPatch(before, before)).toEqual([])
      }),
    )
    const lists = fc.array(fc.integer({ min: 0, max: 3 }), { maxLength: 8 })
    await fc.assert(
      fc.asyncProperty(lists, lists, async (before, after) => {
        expect(apply(before, await createPatch(before, after))).toEqual(after)
      }),
    )
  })

  it('names only what changed, with the value before', async () => {
    const before = { name: 'a', 'x/y~z': 1, rules: [{ id: '1', rollout: 10 }, { id: '2' }], gone: true }
    const after = { name: 'a', 'x/y~z': 2, rules: [{ id: '0' }, ...before.rules], new: null }
    expect(await createPatch(before, after)).toEqual([
      { op: 'replace', path: '/x~1y~0z', value: 2, was: 1 },
      { op: 'add', path: '/rules/0', value: { id: '0' } },
      { op: 'remove', path: '/gone', was: true },
      { op: 'add', path: '/new', value: null },
    ])
    expect(await createPatch([1, 2, 3, 4], [1, 4])).toEqual([
      { op: 'remove', path: '/2', was: 3 },
      { op: 'remove', path: '/1', was: 2 },
    ])
  })

  it('replaces the items of long lists that have nothing in common', async () => {
    const numbers = Array.from({ length: 30_000 }, (_, index) => index)
    expect(await createPatch(numbers, numbers.toReversed())).toHaveLength(30_000)
  })

  it('lets others continue after each part of a value', async () => {
    const numbers = (value: number) => Object.fromEntries(Array.from({ length: 50 }, (_, n) => [n, [value]]))
    let turns = 0
    const everyStep = {
      isOver: () => true,
      next: async () => {
        turns++
      },
    }
    expect(await createPatchInTurns(numbers(1), numbers(2), everyStep)).toHaveLength(50)
    expect(turns).toBe(50)
    await createPatchInTurns(numbers(1), numbers(1), everyStep)
    expect(turns).toBe(100)
  })
})
