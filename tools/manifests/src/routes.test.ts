import { readdirSync, readFileSync } from 'node:fs'
import path from 'node:path'
import { operations } from '@waymark/contracts/http/operations'
import { describe, expect, it } from 'vitest'
import { parse } from 'yaml'

const ROOT = path.resolve(import.meta.dirname, '../../..')
const textOf = (name: string): string => readFileSync(path.join(ROOT, name), 'utf8')

/** The names that each app imports from the contracts. */
const imports = new Map(
  readdirSync(path.join(ROOT, 'apps'))
    .filter((app) => !['standalone', 'console', 'cli'].includes(app))
    .map((app): [string, string] => {
      const sources = readdirSync(path.join(ROOT, 'apps', app, 'src'), { recursive: true, encoding: 'utf8' })
        .filter((name) => /(?<!\.test)\.ts$/.test(name))
        .map((name) => textOf(`apps/${app}/src/${name}`))
      const found = sources.flatMap((source) => [
        ...source.matchAll(/import \{([^}]*)\} from '@waymark\/contracts\/http\/[\w-]+'/g),
      ])
      return [app, found.map(([, names]) => names).join()]
    }),
)

/** The app that answers an operation: the only one that imports it, or management-api, which imports whole lists. */
const ownerOf = (id: string): string => {
  const owners = [...imports].filter(([, names]) => new RegExp(`\\b${id}\\b`).test(names)).map(([app]) => app)
  if (owners.length > 1) throw new Error(`${owners} import ${id}`)
  return owners[0] ?? 'management-api'
}

/** Each public path and its app, with text in place of parameters. */
const expected = operations
  .filter((operation) => !operation.path.startsWith('/internal/'))
  .map(({ id, path: pattern }) => [pattern.replaceAll(/\{\w+\}/g, 'some-text'), ownerOf(id)])

const ingressService = (requested: string): string => {
  type Rule = {
    http: { paths: { path: string; pathType: string; backend: { service: { name: string } } }[] }
  }
  const { rules } = (parse(textOf('deploy/k8s/base/ingress.yaml')) as { spec: { rules: Rule[] } }).spec
  const isMatch = ({ path: own, pathType }: { path: string; pathType: string }): boolean =>
    requested === own || (pathType === 'Prefix' && `${requested}/`.startsWith(own === '/' ? own : `${own}/`))
  const [found] = rules
    .flatMap(({ http }) => http.paths)
    .filter(isMatch)
    .toSorted((one, other) => other.path.length - one.path.length)
  return found?.backend.service.name ?? 'none'
}

const nginxService = (requested: string): string => {
  const locations = [
    ...textOf('deploy/docker/nginx.conf').matchAll(
      /location (~ )?(\S+) \{(?: set \$service ([a-z-]+);)? proxy_pass/g,
    ),
  ].map(([, regex, pattern = '', service = 'management-api']) => ({ regex, pattern, service }))
  const byRegex = locations.find(({ regex, pattern }) => regex && new RegExp(pattern).test(requested))
  const [byPrefix] = locations
    .filter(({ regex, pattern }) => !regex && requested.startsWith(pattern))
    .toSorted((one, other) => other.pattern.length - one.pattern.length)
  return (byRegex ?? byPrefix)?.service ?? 'none'
}

describe.each([
  ['the Ingress', ingressService],
  ['nginx.conf', nginxService],
] as const)('%s', (_, serviceFor) => {
  it('routes every operation to the app that answers it', () => {
    expect(new Set(expected.map(([, app]) => app)).size).toBe(6)
    expect(expected.map(([requested]) => [requested, serviceFor(`${requested}`)])).toEqual(expected)
  })
})
