import { readdirSync, readFileSync } from 'node:fs'
import path from 'node:path'
import { expect, it } from 'vitest'
import { parse } from 'yaml'
import { schemaProblems, unknownFields } from './models.ts'
import type { KubernetesObject } from './render.ts'

const ROOT = path.resolve(import.meta.dirname, '../../..')
const FOLDER = path.join(ROOT, 'deploy/observability')
const textOf = (name: string): string => readFileSync(path.join(FOLDER, name), 'utf8')

/** Names of the metrics that the code declares, with the series that Prometheus derives from histograms. */
const declaredFigures = (): Set<string> => {
  const sources = ['apps', 'libs'].flatMap((folder) =>
    readdirSync(path.join(ROOT, folder), { recursive: true, encoding: 'utf8' })
      .filter((file) => /^[^/]+\/src\/.*(?<!\.test)\.ts$/.test(file))
      .map((file) => readFileSync(path.join(ROOT, folder, file), 'utf8')),
  )
  const names = sources.flatMap((source) =>
    [...source.matchAll(/name: '(waymark_\w+)'/g)].map(([, name]) => name),
  )
  return new Set(
    names.flatMap((name) => [name, `${name}_bucket`, `${name}_sum`, `${name}_count`].map(String)),
  )
}

it.each(['rules.yaml', 'dashboard.json'])('%s uses existing metrics', (name) => {
  const asked = new Set(textOf(name).match(/\bwaymark_[a-z_]+/g))
  expect(asked.size).toBeGreaterThan(5)
  expect([...asked].filter((figure) => !declaredFigures().has(figure))).toEqual([])
})

it('are objects of the operator', async () => {
  const objects = ['rules.yaml', 'pod-monitor.yaml'].map((name) => parse(textOf(name)) as KubernetesObject)
  expect(await schemaProblems(objects)).toEqual([])
  expect(unknownFields(objects)).toEqual([])
})

it('every alert has a summary, a description and a severity', () => {
  type Rule = { alert: string; labels: { severity: string }; annotations: Record<string, string> }
  const { spec } = parse(textOf('rules.yaml')) as { spec: { groups: { rules: Rule[] }[] } }
  for (const { labels, annotations } of spec.groups.flatMap(({ rules }) => rules)) {
    expect(['warning', 'critical']).toContain(labels.severity)
    expect(Object.keys(annotations)).toEqual(['summary', 'description'])
  }
})
