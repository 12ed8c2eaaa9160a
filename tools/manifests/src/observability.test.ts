import { execFileSync, spawnSync } from 'node:child_process'
import { mkdtempSync, readdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import path from 'node:path'
import { consumerGroups } from '@waymark/contracts/topics'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { parse, parseAllDocuments, stringify } from 'yaml'
import { schemaProblems, unknownFields } from './models.ts'
import type { KubernetesObject } from './render.ts'

const ROOT = path.resolve(import.meta.dirname, '../../..')
const FOLDER = path.join(ROOT, 'deploy/observability')
const RUNBOOKS = path.join(ROOT, 'docs/runbooks')
const DASHBOARDS = readdirSync(path.join(FOLDER, 'dashboards')).map((name) => `dashboards/${name}`)
const textOf = (name: string): string => readFileSync(path.join(FOLDER, name), 'utf8')

type Rule = {
  alert?: string
  record?: string
  expr: string
  labels?: { severity: string }
  annotations?: Record<string, string>
}
type RuleTests = { tests: { alert_rule_test: { alertname: string; exp_alerts: unknown[] }[] }[] }
const { spec } = parse(textOf('rules.yaml')) as { spec: { groups: { name: string; rules: Rule[] }[] } }
const alerts = spec.groups.flatMap(({ rules }) => rules).filter(({ alert }) => alert !== undefined)
const alertNames = alerts.map(({ alert }) => `${alert}`)

const hasPromtool = spawnSync('promtool', ['--version'], { stdio: 'ignore' }).status === 0
if (!hasPromtool) {
  if (process.env.CI) throw new Error('promtool is missing, and in CI no test may be left out')
  process.stdout.write('promtool is missing: the alert rules are not tested.\n')
}

/** Metrics of other software: Node.js, Prometheus, kube-state-metrics, the kubelet, cert-manager, exporters of Kafka, CloudNativePG. */
const FOREIGN =
  /^(nodejs|process|kube|kubelet|container|certmanager|kafka_consumergroup|cnpg_collector|barman_cloud)_[a-z0-9_]+$|^up$|^waymark:namespace$/

const sourcesOf = (folders: readonly string[]): string[] =>
  folders.flatMap((folder) =>
    readdirSync(path.join(ROOT, folder), { recursive: true, encoding: 'utf8' })
      .filter((file) => /^[^/]+\/src\/.*(?<!\.test)\.ts$/.test(file))
      .map((file) => readFileSync(path.join(ROOT, folder, file), 'utf8')),
  )

/** Names of the metrics that the code declares, with the series that Prometheus derives from histograms. */
const declaredMetrics = (): Set<string> => {
  const names = sourcesOf(['apps', 'libs']).flatMap((source) =>
    [...source.matchAll(/name: '(waymark_\w+)'/g)].map(([, name]) => name),
  )
  return new Set(
    names.flatMap((name) => [name, `${name}_bucket`, `${name}_sum`, `${name}_count`].map(String)),
  )
}
const declared = declaredMetrics()

/** The metrics of an expression: names before `{`, `[`, `)` or the end, which are no functions, labels or keywords. */
const metricsOf = (expr: string): string[] => {
  const bare = expr
    .replaceAll(/"[^"]*"/g, '""')
    .replaceAll(/\{[^}]*\}/g, '{}')
    .replaceAll(/\b(by|on|ignoring|without)\s*\([^)]*\)/g, ' ')
    .replaceAll(/\[[^\]]*\]/g, '')
    .replaceAll(/offset \w+/g, '')
  const words = [...bare.matchAll(/[a-z_:][a-z0-9_:]*\b(?!\s*\()/g)].map(([word]) => word)
  return words.filter((word) => !['and', 'or', 'unless', 'sum', 'max', 'min', 'count'].includes(word))
}

type Panel = {
  id: number
  title: string
  gridPos: { x: number; y: number; w: number; h: number }
  targets?: { expr: string }[]
}
type Dashboard = { uid: string; title: string; panels: Panel[] }
const dashboardOf = (name: string): Dashboard => JSON.parse(textOf(name)) as Dashboard

const unknownMetrics = (expressions: readonly string[]): string[] => {
  const used = new Set(expressions.flatMap(metricsOf))
  expect(used.size).toBeGreaterThan(4)
  return [...used].filter((name) => !declared.has(name) && !FOREIGN.test(name))
}

describe('the alert rules', () => {
  it('use existing metrics', () => {
    expect(unknownMetrics(alerts.map(({ expr }) => expr))).toEqual([])
    expect(metricsOf('sum by (app) (rate(waymark_a_total{x="b"}[5m])) > 0.5 and on (c) d:e')).toEqual([
      'waymark_a_total',
      'd:e',
    ])
  })

  it('are objects of the operator, as is the PodMonitor, with the label that kube-prometheus-stack selects', async () => {
    const objects = ['rules.yaml', 'pod-monitor.yaml'].flatMap((name) =>
      parseAllDocuments(textOf(name)).map((document) => document.toJS() as KubernetesObject),
    )
    expect(await schemaProblems(objects)).toEqual([])
    expect(unknownFields(objects)).toEqual([])
    for (const { metadata } of objects)
      expect(metadata.labels).toMatchObject({ release: 'kube-prometheus-stack' })
  })

  it('have a severity, a summary, a description and a runbook', () => {
    for (const { alert, labels, annotations = {} } of alerts) {
      expect(['warning', 'critical']).toContain(labels?.severity)
      expect(Object.keys(annotations)).toEqual(['summary', 'description', 'runbook_url'])
      expect(annotations.runbook_url).toBe(`docs/runbooks/${alert}.md`)
    }
    const files = readdirSync(RUNBOOKS).filter((name) => name !== 'README.md')
    expect(files.toSorted()).toEqual(alertNames.map((name) => `${name}.md`).toSorted())
  })

  it('miss no app, and no consumer group', () => {
    const apps = readdirSync(path.join(ROOT, 'apps'), { withFileTypes: true })
      .filter((entry) => entry.isDirectory() && !['standalone', 'console', 'cli'].includes(entry.name))
      .map(({ name }) => name)
    const down = alerts.find(({ alert }) => alert === 'WaymarkAppIsDown')?.expr ?? ''
    const watched = [...down.matchAll(/"app", "([a-z-]+)"/g)].map(([, app]) => app)
    expect(watched.toSorted()).toEqual(apps.toSorted())
    for (const { expr, record } of spec.groups.flatMap(({ rules }) => rules))
      for (const [, list = ''] of expr.matchAll(/app=~"([a-z|-]+)"/g))
        expect([record, list.split('|').toSorted()]).toEqual([record, apps.toSorted()])
    const stuck = alerts.find(({ alert }) => alert === 'WaymarkPartitionIsStuck')?.expr ?? ''
    const groups = new RegExp(`^(${/consumergroup=~"([^"]+)"/.exec(stuck)?.[1]})$`)
    for (const { group } of Object.values(consumerGroups)) expect(group).toMatch(groups)
  })

  it('have runbooks that query existing metrics', () => {
    const queries = readdirSync(RUNBOOKS).flatMap((name) =>
      [...readFileSync(path.join(RUNBOOKS, name), 'utf8').matchAll(/```promql\n([^`]+)```/g)].map(
        ([, query = '']) => query,
      ),
    )
    expect(unknownMetrics(queries)).toEqual([])
  })

  it('have runbooks that look for log lines of the code', () => {
    const sources = sourcesOf(['apps', 'libs']).join('\n')
    const patterns = readdirSync(RUNBOOKS).flatMap((name) =>
      [...readFileSync(path.join(RUNBOOKS, name), 'utf8').matchAll(/grep -E '([^']+)'/g)].flatMap(
        ([, pattern = '']) => pattern.split('|'),
      ),
    )
    expect(patterns.length).toBeGreaterThan(15)
    const isLogged = (pattern: string): boolean => {
      const loop = /^"loop":"([a-z-]+)"$/.exec(pattern)?.[1]
      return sources.includes(loop === undefined ? pattern : `'${loop}'`)
    }
    expect(patterns.filter((pattern) => !isLogged(pattern))).toEqual([])
  })

  it('notice each background work that fails, however rarely it runs', () => {
    const expr = alerts.find(({ alert }) => alert === 'WaymarkBackgroundWorkFails')?.expr ?? ''
    const namesIn = (range: string): string[] =>
      (new RegExp(`loop=~"([a-z|-]+)"}\\[${range}\\]`).exec(expr)?.[1] ?? '').split('|').toSorted()
    const loops = sourcesOf(['apps', 'libs']).flatMap((source) =>
      [...source.matchAll(/\b(?:everyMs|drain)\(\s*'([a-z-]+)',\s*(\w+),/g)].map(([, name, constant]) => {
        const product = new RegExp(`const ${constant} = ([\\d_ *]+)`).exec(source)?.[1]
        if (!product) throw new Error(`the pause of ${name} is not understood`)
        const ms = product.split('*').reduce((all, factor) => all * Number(factor.replaceAll('_', '')), 1)
        return { name: `${name}`, ms }
      }),
    )
    const pausedFor = (from: number, below: number): string[] =>
      [...new Set(loops.filter(({ ms }) => ms >= from && ms < below).map(({ name }) => name))].toSorted()
    const minute = 60_000
    expect(loops.length).toBeGreaterThan(20)
    // Four failures fit into a quarter of an hour.
    expect(pausedFor(3 * minute, 10 * minute)).toEqual([])
    expect(namesIn('1h')).toEqual(pausedFor(10 * minute, 15 * minute))
    expect(pausedFor(15 * minute, 60 * minute)).toEqual([])
    expect(namesIn('3h')).toEqual(pausedFor(60 * minute, 61 * minute))
    expect(pausedFor(61 * minute, Number.POSITIVE_INFINITY)).toEqual([])
  })

  it('each have a test in which they fire, and one in which they do not', () => {
    const { tests } = parse(textOf('rules.test.yaml')) as RuleTests
    const cases = tests.flatMap(({ alert_rule_test }) => alert_rule_test)
    const namesOf = (found: typeof cases) => [...new Set(found.map(({ alertname }) => alertname))].sort()
    expect(namesOf(cases.filter(({ exp_alerts }) => exp_alerts.length > 0))).toEqual(alertNames.toSorted())
    expect(namesOf(cases.filter(({ exp_alerts }) => exp_alerts.length === 0))).toEqual(alertNames.toSorted())
  })
})

describe.skipIf(!hasPromtool)('promtool', () => {
  let folder = ''
  beforeAll(() => {
    folder = mkdtempSync(path.join(tmpdir(), 'rules-'))
  })
  afterAll(() => rmSync(folder, { recursive: true }))
  const promtool = (...args: string[]): string =>
    execFileSync('promtool', args, { cwd: folder, encoding: 'utf8', stdio: 'pipe' })
  /** Writes the groups as a rule file of Prometheus. */
  const writeRules = (groups: typeof spec.groups, file = 'rules.yaml'): void =>
    writeFileSync(path.join(folder, file), stringify({ groups }))

  it('accepts the rules and their templates', () => {
    writeRules(spec.groups)
    expect(promtool('check', 'rules', 'rules.yaml')).toMatch('SUCCESS')
  })

  it('finds that they fire when they should', () => {
    const { tests, ...rest } = parse(textOf('rules.test.yaml')) as RuleTests
    // Each with the rules that it names only, because promtool evaluates every rule for every minute.
    const files = tests.map((test, index) => {
      const names = test.alert_rule_test.map(({ alertname }) => alertname)
      const rules = `rules-${index}.yaml`
      writeRules(
        spec.groups.map((group) => ({
          name: group.name,
          rules: group.rules
            .filter(({ alert }) => alert === undefined || names.includes(alert))
            // Without annotations, which the expected alerts would have to repeat.
            .map(({ annotations: _, ...rule }) => rule),
        })),
        rules,
      )
      const file = `rules-${index}.test.yaml`
      writeFileSync(path.join(folder, file), stringify({ ...rest, rule_files: [rules], tests: [test] }))
      return file
    })
    expect(promtool('test', 'rules', ...files).match(/SUCCESS/g)).toHaveLength(tests.length)
  })
})

describe('the dashboards', () => {
  it('are all in the ConfigMap', () => {
    type Component = { configMapGenerator: { files: string[] }[] }
    const { configMapGenerator } = parse(textOf('kustomization.yaml')) as Component
    expect(configMapGenerator.flatMap(({ files }) => files).toSorted()).toEqual(DASHBOARDS.toSorted())
  })

  it('have ids of their own', () => {
    const uids = DASHBOARDS.map((name) => dashboardOf(name).uid)
    expect(uids.map((uid) => `dashboards/${uid}.json`)).toEqual(DASHBOARDS)
  })

  it.each(DASHBOARDS)('%s uses existing metrics', (name) => {
    const expressions = dashboardOf(name).panels.flatMap(({ targets = [] }) =>
      targets.map(({ expr }) => expr),
    )
    expect(unknownMetrics(expressions)).toEqual([])
    for (const expr of expressions) expect(expr).toContain('namespace="$namespace"')
  })

  it.each(DASHBOARDS)('%s has panels that do not overlap', (name) => {
    const { panels } = dashboardOf(name)
    expect(new Set(panels.map(({ id }) => id)).size).toBe(panels.length)
    const cells = panels.flatMap(({ gridPos: { x, y, w, h } }) =>
      Array.from({ length: w * h }, (_, index) => `${x + (index % w)},${y + Math.floor(index / w)}`),
    )
    expect(new Set(cells).size).toBe(cells.length)
    for (const { gridPos } of panels) expect(gridPos.x + gridPos.w).toBeLessThanOrEqual(24)
  })

  it('show each metric of the code, or an alert uses it', () => {
    const shown = new Set([
      ...alerts.flatMap(({ expr }) => metricsOf(expr)),
      ...DASHBOARDS.flatMap((name) =>
        dashboardOf(name).panels.flatMap(({ targets = [] }) =>
          targets.flatMap(({ expr }) => metricsOf(expr)),
        ),
      ),
    ])
    const names = [...declared].filter((name) => !/_(bucket|sum|count)$/.test(name))
    const isShown = (name: string) =>
      ['', '_bucket', '_sum', '_count'].some((suffix) => shown.has(name + suffix))
    expect(names.filter((name) => !isShown(name))).toEqual([])
  })
})
