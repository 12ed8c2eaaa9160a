import { existsSync, globSync } from 'node:fs'
import path from 'node:path'
import { BROWSER_TESTS, NOT_INTEGRATION } from './test-files.ts'

/** Whether a folder has files that match one of the patterns (relative to the workspace) and none of `except`. */
const hasFiles = (workspaceRoot, root, patterns, except = []) => {
  const matches = (list) => new Set(list.flatMap((pattern) => globSync(pattern, { cwd: workspaceRoot })))
  const excluded = matches(except)
  return [...matches(patterns)].some((file) => file.startsWith(`${root}/`) && !excluded.has(file))
}

const vitest = (project, folder) => ({
  command: `vitest run --project ${project} --passWithNoTests ${folder}/`,
  options: { cwd: '{workspaceRoot}' },
})

/** Packages that import types that are generated from the description of the API, and what generates them. */
const GENERATED_TYPES = {
  'apps/console': 'apps/console/generate.ts',
  'apps/cli': 'libs/client/generate.ts',
  'libs/client': 'libs/client/generate.ts',
}

/** The targets of a package, by the files that it has. A folder of tests may be a project of its own (`tests/project.json`). */
const targetsOf = (workspaceRoot, root, separateTests) => {
  const tests = path.basename(root) === 'tests' ? root : separateTests ? undefined : `${root}/tests`
  const targets = {}
  const configured = [root, path.dirname(root)].find((folder) =>
    existsSync(path.join(workspaceRoot, folder, 'tsconfig.json')),
  )
  const generator = GENERATED_TYPES[root] ?? GENERATED_TYPES[path.dirname(root)]
  const generate = generator ? `node ${generator} && ` : ''
  targets.typecheck = {
    command: `${generate}tsc -p ${configured} --checkers 2`,
    options: { cwd: '{workspaceRoot}' },
  }
  if (hasFiles(workspaceRoot, root, [`${root}/src/**/*.test.ts`]))
    targets.unit = vitest('unit', `${root}/src`)
  if (tests !== undefined) {
    if (hasFiles(workspaceRoot, tests, [`${tests}/**/*.test.ts`], NOT_INTEGRATION))
      targets.integration = vitest('integration', tests)
    if (hasFiles(workspaceRoot, tests, BROWSER_TESTS)) targets.browser = vitest('browser', tests)
  }
  return targets
}

/** Gives each package the targets `typecheck`, `unit`, `integration` and `browser`, as far as it has files for them. */
export const createNodesV2 = [
  '{apps,libs,tools}/*/{package.json,tests/project.json}',
  (files, _options, { workspaceRoot }) =>
    files.map((file) => {
      const root = path.dirname(file)
      const separateTests = files.includes(`${root}/tests/project.json`)
      return [file, { projects: { [root]: { targets: targetsOf(workspaceRoot, root, separateTests) } } }]
    }),
]
