import { expect, it } from 'vitest'
import { layoutPaths } from './path-layout.ts'

it('places each step to the right of the previous one, even without an incoming link', () => {
  const { nodes, links, width } = layoutPaths({
    nodes: [
      { id: '0:a', step: 0, name: 'a' },
      { id: '1:b', step: 1, name: 'b' },
      { id: '2:c', step: 2, name: 'c' },
      { id: '1:x', step: 1, name: 'x' },
    ],
    links: [
      { source: '0:a', target: '1:b', people: 3 },
      { source: '1:x', target: '2:c', people: 1 },
    ],
  })
  const at = Object.fromEntries(nodes.map((node) => [node.id, node]))
  expect(at['0:a']?.x).toBeLessThan(at['1:b']?.x ?? 0)
  expect(at['1:x']?.x).toBe(at['1:b']?.x)
  expect(at['2:c']?.x).toBeGreaterThan(at['1:b']?.x ?? 0)
  expect(at['0:a']?.height).toBeGreaterThan(at['1:x']?.height ?? 0)
  expect(links.map(({ label, step }) => [label, step])).toEqual([
    ['a → b', 0],
    ['x → c', 1],
  ])
  expect(Math.max(...nodes.map(({ x }) => x))).toBeLessThan(width)
})
