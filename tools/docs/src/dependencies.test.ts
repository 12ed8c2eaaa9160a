import { readFile } from 'node:fs/promises'
import path from 'node:path'
import { describe, expect, it } from 'vitest'

const ROOT = path.resolve(import.meta.dirname, '../../..')
const readText = (file: string): Promise<string> => readFile(path.join(ROOT, file), 'utf8')

type Lockfile = {
  packages: Record<string, { hasInstallScript?: boolean; resolved?: string; integrity?: string }>
}

const nameOf = (place: string): string =>
  place.slice(place.lastIndexOf('node_modules/') + 'node_modules/'.length)

describe('install scripts', async () => {
  const { packages } = JSON.parse(await readText('package-lock.json')) as Lockfile
  const { allowScripts } = JSON.parse(await readText('package.json')) as {
    allowScripts: Record<string, boolean>
  }
  const page = await readText('docs/dependencies.md')
  const withScript = Object.entries(packages)
    .filter(([place, { hasInstallScript }]) => place !== '' && hasInstallScript)
    .map(([place]) => nameOf(place))
  const documented = [...page.matchAll(/^\| `([^`]+)` \| (yes|no) \| (\S.*) \|$/gm)].map(([, name, runs]) => [
    name,
    runs === 'yes',
  ])

  it('are each allowed or denied in package.json, and no others', () => {
    expect(Object.keys(allowScripts).sort()).toEqual([...new Set(withScript)].sort())
  })

  it('are listed on the page with the decision and a reason', () => {
    expect(Object.fromEntries(documented)).toEqual(allowScripts)
  })
})

it('every package in the lockfile is known by its hash', async () => {
  const { packages } = JSON.parse(await readText('package-lock.json')) as Lockfile
  const unknown = Object.entries(packages).filter(
    ([place, { resolved, integrity }]) =>
      place.includes('node_modules/') && resolved?.startsWith('http') && !integrity,
  )
  expect(unknown.map(([place]) => place)).toEqual([])
})
