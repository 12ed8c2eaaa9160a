import { mkdir, writeFile } from 'node:fs/promises'
import path from 'node:path'
import type { Command } from 'commander'
import { type CatalogEntry, catalogSchema, catalogTypes } from '../catalog-types.ts'
import type { Run } from '../command.ts'
import type { Context } from '../context.ts'

type TypesOptions = { out: string; schema?: string }

/** `waymark types` */
export const addTypesCommand = (program: Command, run: Run): void => {
  program
    .command('types')
    .description('write TypeScript types of the event catalog, and its JSON Schema')
    .option('--out <file>', 'the file of the types', 'waymark-events.ts')
    .option('--schema <file>', 'also write a JSON Schema of all events')
    .action(run(writeTypes))
}

const writeTypes = async (context: Context, { out, schema }: TypesOptions): Promise<void> => {
  const client = await context.client()
  const params = { path: { projectId: await context.projectId() } }
  const catalog: CatalogEntry[] = await Array.fromAsync(
    client.list('/api/projects/{projectId}/event-definitions', { params }),
  )
  const sorted = catalog.toSorted((a, b) => (a.name < b.name ? -1 : 1))
  const files = [out, ...(schema ? [schema] : [])]
  const texts = [await catalogTypes(sorted), `${JSON.stringify(catalogSchema(sorted), null, 2)}\n`]
  for (const [index, file] of files.entries()) {
    const full = path.resolve(context.io.cwd, file)
    await mkdir(path.dirname(full), { recursive: true })
    await writeFile(full, texts[index] ?? '')
  }
  context.out.result({ events: sorted.length, files }, `${sorted.length} events in ${files.join(' and ')}`)
}
