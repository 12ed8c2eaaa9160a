/** A project of Nx: its folder, and what it declares to depend on without importing it. */
export type Project = { name: string; root: string; implicit: readonly string[] }
type SourceFile = { path: string; text: string }

/** Also of files that are only resolved, such as those of the console. */
const PACKAGE_NAME = /'(@waymark\/[\w-]+)/g
const RELATIVE_IMPORT = /(?:from|import)\s*\(?\s*'(\.{1,2}\/[^']+)'/g

/** The project with the deepest folder that contains a file. */
export const projectOf = (projects: readonly Project[], file: string): Project | undefined =>
  projects
    .filter(({ root }) => root !== '.' && file.startsWith(`${root}/`))
    .toSorted((a, b) => b.root.length - a.root.length)[0]

/** The direct dependencies of each project: what its files import, and what it declares. */
export const dependenciesOf = (
  projects: readonly Project[],
  files: readonly SourceFile[],
): Map<string, Set<string>> => {
  const dependencies = new Map(projects.map(({ name, implicit }) => [name, new Set(implicit)]))
  for (const { path, text } of files) {
    const from = projectOf(projects, path)
    if (from === undefined) continue
    const add = (to: string | undefined) => {
      if (to !== undefined && to !== from.name) dependencies.get(from.name)?.add(to)
    }
    for (const [, name = ''] of text.matchAll(PACKAGE_NAME)) if (dependencies.has(name)) add(name)
    for (const [, relative = ''] of text.matchAll(RELATIVE_IMPORT))
      add(projectOf(projects, new URL(relative, `file:///${path}`).pathname.slice(1))?.name)
  }
  return dependencies
}

/** A project and all that depend on it, directly or not. */
export const dependentsOf = (
  name: string,
  dependencies: ReadonlyMap<string, ReadonlySet<string>>,
): Set<string> => {
  const found = new Set([name])
  for (let before = 0; before < found.size; ) {
    before = found.size
    for (const [project, of] of dependencies) if ([...of].some((one) => found.has(one))) found.add(project)
  }
  return found
}
