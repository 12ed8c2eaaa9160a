import { expect, it } from 'vitest'
import { dependenciesOf, dependentsOf, type Project, projectOf } from './expected.ts'

const project = (root: string, implicit: string[] = []): Project => ({
  name: `@waymark/${root.replace('/tests', '-tests').split('/')[1]}`,
  root,
  implicit,
})
const projects = [
  project('libs/a'),
  project('libs/b'),
  project('apps/c'),
  project('apps/c/tests', ['@waymark/b']),
  project('tools/d'),
]
const files = [
  { path: 'libs/b/src/index.ts', text: "import { a } from '@waymark/a'\nimport { own } from './own.ts'" },
  { path: 'apps/c/src/main.ts', text: "const { a } = await import('@waymark/a/part')" },
  { path: 'apps/c/tests/c.test.ts', text: "import { c } from '../src/main.ts'\nimport pg from 'pg'" },
]

it('gives a file to the deepest project', () => {
  expect(projectOf(projects, 'apps/c/tests/c.test.ts')?.root).toBe('apps/c/tests')
  expect(projectOf(projects, 'apps/c/src/main.ts')?.root).toBe('apps/c')
  expect(projectOf(projects, 'docs/a.md')).toBeUndefined()
})

it('finds imports by name and by path, and what is declared', () => {
  const found = dependenciesOf(projects, files)
  expect(Object.fromEntries([...found].map(([name, of]) => [name, [...of].toSorted()]))).toEqual({
    '@waymark/a': [],
    '@waymark/b': ['@waymark/a'],
    '@waymark/c': ['@waymark/a'],
    '@waymark/c-tests': ['@waymark/b', '@waymark/c'],
    '@waymark/d': [],
  })
})

it('finds what depends on a project, directly or not', () => {
  const dependencies = dependenciesOf(projects, files)
  expect([...dependentsOf('@waymark/a', dependencies)].toSorted()).toEqual([
    '@waymark/a',
    '@waymark/b',
    '@waymark/c',
    '@waymark/c-tests',
  ])
  expect([...dependentsOf('@waymark/c', dependencies)]).toEqual(['@waymark/c', '@waymark/c-tests'])
  expect([...dependentsOf('@waymark/d', dependencies)]).toEqual(['@waymark/d'])
})
