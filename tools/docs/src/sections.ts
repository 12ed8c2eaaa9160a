import { existsSync } from 'node:fs'
import { readdir, readFile } from 'node:fs/promises'
import path from 'node:path'
import {
  archiveConfig,
  type ConfigSpec,
  clickhouseConfig,
  httpConfig,
  isVariable,
  logConfig,
  platformConfig,
  tracingConfig,
} from '@waymark/service-kit'
import type { Section } from './configuration.ts'

const ROOT = path.resolve(import.meta.dirname, '../../..')

/** All variables: first those of every process, then those of each app and of the setup. */
export const allSections = async (): Promise<Section[]> => {
  const apps = (await readdir(path.join(ROOT, 'apps'))).toSorted()
  const { database, redis, kafka, ...rest } = platformConfig
  return [
    {
      title: 'Every process',
      text: await defaultPorts(apps),
      spec: { ...logConfig, ...httpConfig(8080) },
    },
    { title: 'Traces', spec: tracingConfig },
    { title: 'PostgreSQL', spec: database },
    { title: 'Redis', spec: redis },
    { title: 'Kafka', spec: kafka },
    {
      title: 'ClickHouse',
      text: 'Read by `ingest-gateway`, `persistence-consumer`, `management-api` and `setup`.',
      spec: clickhouseConfig,
    },
    {
      title: 'Archive of events',
      text: 'Read by `persistence-consumer`, `standalone`, `npm run archive:verify` and `npm run archive:erase`; see [archive](archive.md).',
      spec: archiveConfig,
    },
    {
      title: 'Limits and GeoIP',
      text: 'A client address is an IPv4 address or an IPv6 network of /64.',
      spec: rest,
    },
    ...(await Promise.all([...apps.map((app) => `apps/${app}`), 'tools/setup'].map(sectionOf))),
  ]
}

/** The default ports of all apps of a cluster, from their calls of `runApp`. */
const defaultPorts = async (apps: readonly string[]): Promise<string> => {
  const ports = await Promise.all(
    apps
      .filter((app) => !['standalone', 'console', 'cli'].includes(app))
      .map(async (app) => {
        const source = await readFile(path.join(ROOT, 'apps', app, 'src/main.ts'), 'utf8')
        const port = /\bport: (\d+)/.exec(source)?.[1]
        if (port === undefined) throw new Error(`no port found in main.ts of ${app}`)
        return { app, port }
      }),
  )
  const list = ports
    .toSorted((a, b) => Number(a.port) - Number(b.port))
    .map(({ app, port }) => `| ${app} | ${port} |`)
  return `The default \`METRICS_PORT\` is the default \`PORT\` plus 1384. Images use 8080 and 9464.

| app | default \`PORT\` |
| --- | --- |
${list.join('\n')}`
}

/** Notes on packages. */
const NOTES: Record<string, string> = {
  standalone: 'It needs no Kafka and no Redis, and includes PostgreSQL. `LOG_LEVEL` defaults to `warn`.',
  setup: '`LOG_LEVEL` defaults to `warn`.',
}

/** The exports of the package's `config.ts`, if it has one. */
const sectionOf = async (folder: string): Promise<Section> => {
  const file = path.join(ROOT, folder, 'src/config.ts')
  const exported: Record<string, unknown> = existsSync(file) ? await import(file) : {}
  const spec: Record<string, ConfigSpec> = {}
  for (const [name, value] of Object.entries(exported)) if (isSpec(value)) spec[name] = value
  const name = path.basename(folder)
  const note = NOTES[name]
  return { title: name, spec, ...(note !== undefined && { text: note }) }
}

const isSpec = (value: unknown): value is ConfigSpec =>
  typeof value === 'object' &&
  value !== null &&
  Object.values(value).every((entry) => isSpec(entry) || (typeof entry === 'object' && isVariable(entry)))
