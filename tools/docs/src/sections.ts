import { existsSync } from 'node:fs'
import { readdir } from 'node:fs/promises'
import path from 'node:path'
import {
  type ConfigSpec,
  databaseConfig,
  httpConfig,
  isVariable,
  kafkaConfig,
  logConfig,
  platformConfig,
  redisConfig,
  tracingConfig,
} from '@waymark/service-kit'
import type { Section } from './configuration.ts'

const ROOT = path.resolve(import.meta.dirname, '../../..')

/** Everything that can be configured: what all processes share, then what each app and the setup declare for themselves. */
export const allSections = async (): Promise<Section[]> => {
  const apps = (await readdir(path.join(ROOT, 'apps'))).toSorted()
  return [
    {
      title: 'Every process',
      text: 'Each app has a default port of its own, from 8080 on, and its metrics as far from 9464; images use 8080 and 9464.',
      spec: { ...logConfig, ...httpConfig(8080) },
    },
    { title: 'Traces', spec: tracingConfig },
    { title: 'PostgreSQL', spec: databaseConfig },
    { title: 'Redis', spec: redisConfig },
    { title: 'Kafka', spec: kafkaConfig },
    { title: 'Limits and the rest', spec: platformConfig },
    ...(await Promise.all([...apps.map((app) => `apps/${app}`), 'tools/setup'].map(sectionOf))),
  ]
}

/** What the package's `config.ts` exports, if it has one. */
const sectionOf = async (folder: string): Promise<Section> => {
  const file = path.join(ROOT, folder, 'src/config.ts')
  const exported: Record<string, unknown> = existsSync(file) ? await import(file) : {}
  const spec: Record<string, ConfigSpec> = {}
  for (const [name, value] of Object.entries(exported)) if (isSpec(value)) spec[name] = value
  return { title: `Only ${path.basename(folder)}`, spec }
}

const isSpec = (value: unknown): value is ConfigSpec =>
  typeof value === 'object' &&
  value !== null &&
  Object.values(value).every((entry) => isSpec(entry) || (typeof entry === 'object' && isVariable(entry)))
