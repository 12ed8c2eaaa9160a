import { copyFile, mkdir, mkdtemp, rm, symlink, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import path from 'node:path'
import { startProcess } from '@waymark/testing/child-process'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { checkBoundaries, type Violation } from './check-boundaries.ts'

const ROOT = path.resolve(import.meta.dirname, '../../..')

/** A small workspace that follows all rules: the files of each package by path. */
const SOUND: Record<string, string> = {
  'apps/gateway/src/app.ts': "import '@waymark/service-kit'\nimport './track.ts'\n",
  'apps/gateway/src/track.ts': "import type { Domain } from '@waymark/domain'\n",
  'apps/console/src/app.ts': "import '@waymark/database'\n",
  'apps/standalone/src/main.ts': "import '@waymark/gateway'\nimport '@waymark/console'\n",
  'apps/gateway/src/track.test.ts': "import '@waymark/testing'\n",
  'libs/service-kit/src/index.ts': "import '@waymark/pipeline'\n",
  'libs/pipeline/src/index.ts': "import '@waymark/project-config'\nimport './events/index.ts'\n",
  'libs/pipeline/src/events/index.ts': "import './event-queries.ts'\nimport '../links/index.ts'\n",
  'libs/pipeline/src/events/event-queries.ts': 'export const storeEvents = 1\n',
  'libs/pipeline/src/links/index.ts': 'export const resolveLinks = 1\n',
  'libs/project-config/src/index.ts': "import '@waymark/cache'\nimport '@waymark/event-bus'\n",
  'libs/event-bus/src/index.ts': "import '@waymark/database'\n",
  'libs/event-bus/tests/bus.test.ts': "import '@waymark/testing'\nimport '../src/index.ts'\n",
  'libs/cache/src/index.ts': "import '@waymark/domain'\n",
  'libs/database/src/index.ts': "import 'pg'\nimport { readFile } from 'node:fs/promises'\n",
  'libs/domain/src/index.ts': "import '@waymark/contracts'\nimport { createHash } from 'node:crypto'\n",
  'libs/domain/src/coupon/index.ts': "import './discount.ts'\n",
  'libs/domain/src/coupon/discount.ts': 'export const discount = 1\n',
  'libs/contracts/src/index.ts': "import './topics.ts'\n",
  'libs/contracts/src/topics.ts': 'export const topics = []\n',
  'libs/testing/src/index.ts': "import '@waymark/database'\n",
  'tools/setup/src/main.ts': "import '@waymark/service-kit'\n",
}
const DOORS: Record<string, string> = { apps: './src/app.ts', libs: './src/index.ts', tools: './src/main.ts' }

let folder: string
beforeAll(async () => {
  folder = await mkdtemp(path.join(tmpdir(), 'boundaries-'))
})
afterAll(() => rm(folder, { recursive: true }))

const write = async (file: string, text: string): Promise<void> => {
  await mkdir(path.dirname(file), { recursive: true })
  await writeFile(file, text)
}

/** Writes a workspace with these files to a new folder and links its packages as npm does. */
const makeTree = async (files: Record<string, string>): Promise<string> => {
  const root = await mkdtemp(path.join(folder, 'tree-'))
  await copyFile(path.join(ROOT, '.dependency-cruiser.mjs'), path.join(root, '.dependency-cruiser.mjs'))
  await write(path.join(root, 'node_modules/pg/package.json'), '{"name":"pg","main":"index.js"}')
  await write(path.join(root, 'node_modules/pg/index.js'), '')
  await mkdir(path.join(root, 'node_modules/@waymark'))
  for (const [file, text] of Object.entries(files)) await write(path.join(root, file), text)
  for (const at of new Set(Object.keys(files).map((file) => file.split('/').slice(0, 2).join('/')))) {
    const [group = '', name = ''] = at.split('/')
    const manifest = { name: `@waymark/${name}`, exports: DOORS[group], dependencies: { pg: '*' } }
    await write(path.join(root, at, 'package.json'), JSON.stringify(manifest))
    await symlink(path.join(root, at), path.join(root, 'node_modules/@waymark', name))
  }
  return root
}

/** The violations of the small workspace with additional or replaced files. */
const violationsWith = async (files: Record<string, string>) =>
  (await checkBoundaries(await makeTree({ ...SOUND, ...files }))).violations

describe('the boundaries', () => {
  it('report nothing for valid imports', async () => {
    const { modules, dependencies, violations } = await checkBoundaries(await makeTree(SOUND))
    expect(violations).toEqual([])
    expect(modules).toBeGreaterThanOrEqual(Object.keys(SOUND).length)
    expect(dependencies).toBeGreaterThanOrEqual(Object.keys(SOUND).length)
  })

  const FORBIDDEN = [
    ['a lib that imports an app', 'libs/pipeline/src/more.ts', '@waymark/gateway', 'apps-are-not-imported'],
    ['an app that imports another', 'apps/gateway/src/more.ts', '@waymark/console', 'apps-are-not-imported'],
    ['a tool that imports an app', 'tools/setup/src/more.ts', '@waymark/console', 'apps-are-not-imported'],
    [
      'an app that imports a tool',
      'apps/gateway/src/more.ts',
      '@waymark/setup',
      'packages-are-imported-by-their-index',
    ],
    [
      'a folder of the pipeline that imports a file of another',
      'libs/pipeline/src/links/more.ts',
      '../events/event-queries.ts',
      'pipeline-folders-are-imported-by-their-index',
    ],
    [
      'the domain on the database',
      'libs/domain/src/more.ts',
      '@waymark/database',
      'domain-imports-no-layer-above',
    ],
    [
      'contracts on the domain',
      'libs/contracts/src/more.ts',
      '@waymark/domain',
      'contracts-imports-no-layer-above',
    ],
    [
      'the database on an adapter',
      'libs/database/src/more.ts',
      '@waymark/cache',
      'database-imports-no-layer-above',
    ],
    [
      'an adapter on project-config',
      'libs/cache/src/more.ts',
      '@waymark/project-config',
      'adapters-imports-no-layer-above',
    ],
    [
      'the pipeline on the service-kit',
      'libs/pipeline/src/more.ts',
      '@waymark/service-kit',
      'pipeline-imports-no-layer-above',
    ],
    [
      'the client on the contracts',
      'libs/client/src/more.ts',
      '@waymark/contracts',
      'client-imports-no-other-package',
    ],
    [
      'an adapter on another',
      'libs/event-bus/src/more.ts',
      '@waymark/cache',
      'adapters-do-not-import-each-other',
    ],
    [
      'a file of another lib',
      'apps/gateway/src/more.ts',
      '../../../libs/pipeline/src/events/event-queries.ts',
      'packages-are-imported-by-their-index',
    ],
    [
      'a rule of the domain by its file',
      'apps/gateway/src/more.ts',
      '../../../libs/domain/src/coupon/discount.ts',
      'packages-are-imported-by-their-index',
    ],
    [
      'a file of another app',
      'apps/standalone/src/more.ts',
      '../../gateway/src/track.ts',
      'packages-are-imported-by-their-index',
    ],
    [
      'a file of another lib by its name',
      'apps/gateway/src/more.ts',
      '@waymark/contracts/src/topics.ts',
      'no-unresolvable',
    ],
    ['testing outside of tests', 'apps/gateway/src/more.ts', '@waymark/testing', 'only-tests-import-testing'],
    ['testing in a tool', 'tools/setup/src/more.ts', '@waymark/testing', 'only-tests-import-testing'],
    ['a file system in the domain', 'libs/domain/src/more.ts', 'node:fs', 'domain-and-contracts-do-no-io'],
    ['promises of a file system', 'libs/domain/src/more.ts', 'fs/promises', 'domain-and-contracts-do-no-io'],
    ['a network in contracts', 'libs/contracts/src/more.ts', 'node:net', 'domain-and-contracts-do-no-io'],
    ['a driver in the domain', 'libs/domain/src/more.ts', 'pg', 'domain-and-contracts-do-no-io'],
    ['what does not exist', 'libs/domain/src/more.ts', './nowhere.ts', 'no-unresolvable'],
  ] as const
  const forbidden = FORBIDDEN.map(([what, file, imported, rule], index) => ({
    what,
    file: file.replace('more.ts', `more-${index}.ts`),
    imported,
    rule,
  }))
  let inOneTree: Promise<Violation[]> | undefined
  it.each(forbidden)('forbid $what', async ({ file, rule }) => {
    // Building a graph takes longer than all of its rules.
    inOneTree ??= violationsWith(
      Object.fromEntries(forbidden.map(({ file, imported }) => [file, `import '${imported}'\n`])),
    )
    expect(await inOneTree).toContainEqual(expect.objectContaining({ rule, from: file }))
  })

  it('forbid a type as well as a value', async () => {
    const files = { 'libs/domain/src/more.ts': "import type { Pool } from '@waymark/database'\n" }
    expect(await violationsWith(files)).toMatchObject([{ rule: 'domain-imports-no-layer-above' }])
  })

  it('forbid what a package does not declare', async () => {
    const root = await makeTree({ ...SOUND, 'libs/cache/src/more.ts': "import 'pg'\n" })
    await write(
      path.join(root, 'libs/cache/package.json'),
      '{"name":"@waymark/cache","exports":"./src/index.ts"}',
    )
    expect((await checkBoundaries(root)).violations).toMatchObject([
      { rule: 'packages-declare-what-they-import' },
    ])
  })

  it('forbid a cycle, and show it', async () => {
    const [violation, ...others] = await violationsWith({
      'libs/contracts/src/topics.ts': "import './a.ts'\n",
      'libs/contracts/src/a.ts': "import type { B } from './b.ts'\n",
      'libs/contracts/src/b.ts': "import './topics.ts'\n",
    })
    expect(violation?.rule).toBe('no-cycles')
    expect([violation?.from, ...(violation?.to.split(' → ') ?? [])].sort()).toEqual(
      expect.arrayContaining(['a', 'b', 'topics'].map((name) => `libs/contracts/src/${name}.ts`)),
    )
    expect(others).toEqual([])
  })
})

describe('an incomplete graph', () => {
  const rulesOf = (violations: { rule: string }[]) => [...new Set(violations.map(({ rule }) => rule))]

  it.each([
    ['without files', {}],
    ['without imports', { 'apps/gateway/src/app.ts': '', 'libs/domain/src/index.ts': '' }],
  ])('fails: %s', async (_, files: Record<string, string>) => {
    const { violations } = await checkBoundaries(await makeTree(files))
    expect(rulesOf(violations)).toEqual(['graph-is-complete'])
  })

  it.each([
    ['from apps to libs', /^apps\//],
    ['from libs to libs', /^libs\/(?!database)/],
    ['of packages and of Node', /^libs\/database/],
  ])('fails without imports %s', async (_, silenced) => {
    const files = Object.entries(SOUND).map(
      ([file, text]) => [file, silenced.test(file) ? '' : text] as const,
    )
    const { violations } = await checkBoundaries(await makeTree(Object.fromEntries(files)))
    expect(rulesOf(violations)).toEqual(['graph-is-complete'])
  })

  it('fails when names of packages cannot be resolved', async () => {
    const root = await makeTree(SOUND)
    await rm(path.join(root, 'node_modules/@waymark'), { recursive: true })
    expect(rulesOf((await checkBoundaries(root)).violations)).toContain('graph-is-complete')
  })
})

describe('the program', () => {
  const run = async (files: Record<string, string>) => {
    const main = path.join(import.meta.dirname, 'main.ts')
    const { ended, stdout } = startProcess(process.execPath, [main, await makeTree(files)])
    const status = await ended
    return { status, lines: stdout().trim().split('\n') }
  }

  it('exits with 0 without violations', async () => {
    const { status, lines } = await run(SOUND)
    expect(status).toBe(0)
    expect(lines).toEqual([expect.stringMatching(/^\d+ modules, \d+ imports, 0 violations$/)])
  })

  it('exits with 1 and a line for each violation', async () => {
    const { status, lines } = await run({ ...SOUND, 'libs/domain/src/more.ts': "import '@waymark/cache'\n" })
    expect(status).toBe(1)
    expect(lines).toContain(
      'domain-imports-no-layer-above: libs/domain/src/more.ts → libs/cache/src/index.ts',
    )
    expect(lines.at(-1)).toMatch(/ [1-9]\d* violations$/)
  })

  it('exits with 1 for SQL outside of files of queries', async () => {
    const { status, lines } = await run({
      ...SOUND,
      'apps/gateway/src/more.ts': "export const READ = 'SELECT 1'\n",
    })
    expect(status).toBe(1)
    expect(lines).toContain("sql-is-in-queries-files: apps/gateway/src/more.ts:1 → 'SELECT 1'")
    expect(lines.at(-1)).toMatch(/ 1 violations$/)
  })
})
