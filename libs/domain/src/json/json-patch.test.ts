import fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import { createPatch, type PatchOperation } from './json-patch.ts'

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
  it('turns one value into the other', () => {
    const json = fc.jsonValue({ maxDepth: 4 })
    // Assigning to `__proto__` would change the prototype. Stored JSON has no such member.
    const without = (name: string, value: unknown) => (name === '__proto__' ? undefined : value)
    const plain = (value: unknown): unknown => JSON.parse(JSON.stringify(value, without))
    fc.assert(
      fc.property(json, json, (one, other) => {
        const [before, after] = [plain(one), plain(other)]
        expect(apply(before, createPatch(before, after))).toEqual(after)
        expect(createPatch(before, before)).toEqual([])
      }),
    )
    const lists = fc.array(fc.integer({ min: 0, max: 3 }), { maxLength: 8 })
    fc.assert(
      fc.property(lists, lists, (before, after) => {
        expect(apply(before, createPatch(before, after))).toEqual(after)
      }),
    )
  })

  it('names only what changed, with the value before', () => {
    const before = { name: 'a', 'x/y~z': 1, rules: [{ id: '1', rollout: 10 }, { id: '2' }], gone: true }
    const after = { name: 'a', 'x/y~z': 2, rules: [{ id: '0' }, ...before.rules], new: null }
    expect(createPatch(before, after)).toEqual([
      { op: 'replace', path: '/x~1y~0z', value: 2, was: 1 },
      { op: 'add', path: '/rules/0', value: { id: '0' } },
      { op: 'remove', path: '/gone', was: true },
      { op: 'add', path: '/new', value: null },
    ])
    expect(createPatch([1, 2, 3, 4], [1, 4])).toEqual([
      { op: 'remove', path: '/2', was: 3 },
      { op: 'remove', path: '/1', was: 2 },
    ])
  })

  it('replaces the items of long lists that have nothing in common', () => {
    const numbers = Array.from({ length: 30_000 }, (_, index) => index)
    expect(createPatch(numbers, numbers.toReversed())).toHaveLength(30_000)
  })
})
