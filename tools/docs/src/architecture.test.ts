import { existsSync, readFileSync } from 'node:fs'
import path from 'node:path'
import { describe, expect, it } from 'vitest'

const ROOT = path.resolve(import.meta.dirname, '../../..')
const text = readFileSync(path.join(ROOT, 'docs/architecture.md'), 'utf8')

const IMPORT = /(?:from|import)\s*\(?\s*'(\.{1,2}\/[^']+\.ts|@waymark\/[\w/-]+)'/g

const importsOf = (file: string): string[] =>
  [...readFileSync(path.join(ROOT, file), 'utf8').matchAll(IMPORT)].flatMap(([, name = '']) => {
    if (name.startsWith('.')) return [path.join(path.dirname(file), name)]
    const [, lib = '', ...subject] = name.split('/')
    const source = path.join('libs', lib, 'src', ...subject)
    return [`${source}.ts`, path.join(source, 'index.ts')].filter((at) => existsSync(path.join(ROOT, at)))
  })

/** The files that a file imports, directly or not. */
const reachableFrom = (start: string): Set<string> => {
  const found = new Set([start])
  for (const file of found) for (const imported of importsOf(file)) found.add(imported)
  return found
}

/** The numbered lists of the walks, as the first file name of each line. */
const walks = (text.split('\n## Walks\n')[1]?.split('\n## ')[0] ?? '')
  .split(/\n(?=1\. )/)
  .slice(1)
  .map((list) => [...list.matchAll(/^\d+\. `([^`]+)`/gm)].map(([, file = '']) => file))

describe('the architecture page', () => {
  it('walks from the socket to the stores', () => {
    expect(walks).toHaveLength(7)
  })

  it.each(walks)('follows imports from %s', (...walk) => {
    // The HTTP app gets the routes of an app when the process starts.
    const [entry, ...others] = walk.filter((file) => !file.startsWith('libs/service-kit/'))
    const reachable = reachableFrom(entry ?? '')
    expect(others.filter((file) => !reachable.has(file))).toEqual([])
    for (const file of walk) expect(existsSync(path.join(ROOT, file)), file).toBe(true)
  })

  it('names folders and files that exist', () => {
    const named = [...text.matchAll(/`((?:apps|libs)\/[\w./-]+)`/g)].map(([, file = '']) => file)
    expect(named.length).toBeGreaterThan(60)
    expect(named.filter((file) => !existsSync(path.join(ROOT, file)))).toEqual([])
  })
})
