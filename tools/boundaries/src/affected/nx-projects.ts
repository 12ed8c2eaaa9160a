import { execFileSync } from 'node:child_process'
import { mkdtempSync, readFileSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import path from 'node:path'
import type { Project } from './expected.ts'

/** The folder of the repository. */
export const ROOT = path.resolve(import.meta.dirname, '../../../..')

/** Runs Nx and returns its output. @throws Error when it fails */
export const nx = (...args: string[]): string =>
  execFileSync('npx', ['nx', ...args], { cwd: ROOT, encoding: 'utf8', stdio: ['ignore', 'pipe', 'inherit'] })

type NxProject = Project & { targets: string[] }
type GraphFile = {
  graph: {
    nodes: Record<string, { data: { root: string; implicitDependencies?: string[]; targets?: object } }>
    dependencies: Record<string, { target: string }[]>
  }
}

/** All projects with the names of their targets, and their direct dependencies, by which Nx finds what is affected. */
export const readGraph = (): { projects: NxProject[]; dependencies: Map<string, Set<string>> } => {
  const folder = mkdtempSync(path.join(tmpdir(), 'waymark-graph-'))
  const file = path.join(folder, 'graph.json')
  nx('graph', `--file=${file}`)
  const { graph } = JSON.parse(readFileSync(file, 'utf8')) as GraphFile
  rmSync(folder, { recursive: true })
  const projects = Object.entries(graph.nodes).map(([name, { data }]) => ({
    name,
    root: data.root,
    // One with an exclamation mark is removed instead.
    implicit: (data.implicitDependencies ?? []).filter((one) => !one.startsWith('!')),
    targets: Object.keys(data.targets ?? {}),
  }))
  const dependencies = new Map(
    projects.map(({ name }) => [
      name,
      new Set(
        (graph.dependencies[name] ?? [])
          .map(({ target }) => target)
          .filter((target) => target in graph.nodes),
      ),
    ]),
  )
  return { projects, dependencies }
}
