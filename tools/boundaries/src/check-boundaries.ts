import { existsSync } from 'node:fs'
import path from 'node:path'
import { cruise, type ICruiseOptions, type IDependency, type IModule } from 'dependency-cruiser'
import extractOptions from 'dependency-cruiser/config-utl/extract-depcruise-options'

/** A violated rule: the file, and what it must not import or contain, or an import that the graph lacks. */
export type Violation = { rule: string; from: string; to: string }
/** The number of checked modules and imports, and the violations. */
type BoundaryReport = { modules: number; dependencies: number; violations: Violation[] }

const FOLDERS = ['apps', 'libs', 'tools']

// Rules do not apply to imports that are missing from the graph, for example after a change of name resolution.
const EXPECTED: { from: RegExp; to: RegExp }[] = [
  { from: /^apps\//, to: /^libs\/[^/]+\/src\/index\.ts$/ },
  { from: /^libs\//, to: /^libs\/[^/]+\/src\/index\.ts$/ },
  { from: /^libs\//, to: /^node_modules\// },
  { from: /^libs\//, to: /^fs(\/|$)/ },
]

/**
 * Checks the imports below `rootDir` by the rules in its `.dependency-cruiser.mjs`. A graph without imports that must
 * exist violates `graph-is-complete`.
 */
export const checkBoundaries = async (rootDir: string): Promise<BoundaryReport> => {
  const rules = await extractOptions(path.join(rootDir, '.dependency-cruiser.mjs'))
  const options: ICruiseOptions = { ...rules, baseDir: rootDir }
  const { output } = await cruise(
    FOLDERS.filter((folder) => existsSync(path.join(rootDir, folder))),
    options,
  )
  if (typeof output === 'string') throw new Error('dependency-cruiser returned text instead of a graph')
  const { modules, summary } = output
  const forbidden = summary.violations.map(({ rule, from, to, cycle }) => ({
    rule: rule.name,
    from,
    to: cycle?.map(({ name }) => name).join(' → ') ?? to,
  }))
  return {
    modules: modules.length,
    dependencies: modules.reduce((sum, { dependencies }) => sum + dependencies.length, 0),
    violations: [...missingFrom(modules), ...forbidden],
  }
}

const missingFrom = (modules: IModule[]): Violation[] => {
  const isThere = ({ from, to }: { from: RegExp; to: RegExp }) =>
    modules.some(
      ({ source, dependencies }) =>
        from.test(source) && dependencies.some(({ resolved }: IDependency) => to.test(resolved)),
    )
  return EXPECTED.filter((edge) => !isThere(edge)).map(({ from, to }) => ({
    rule: 'graph-is-complete',
    from: `nothing in ${from.source}`,
    to: to.source,
  }))
}
