import { createReadStream } from 'node:fs'
import { readFile } from 'node:fs/promises'
import path from 'node:path'
import { createInterface } from 'node:readline'
import { Readable } from 'node:stream'
import { createGunzip } from 'node:zlib'
import { ApiError, type Client } from '@waymark/client'
import { type Command, Option } from 'commander'
import type { AddCommands } from '../command.ts'
import type { Context } from '../context.ts'
import { CliError, EXIT, messageOf } from '../exit-codes.ts'
import { type ImportedMessage, readGa4, readMixpanel } from '../import/events.ts'
import type { ImportedFlag } from '../import/flags.ts'
import { type Imported, isObject, type JsonObject, type Refused, Unsupported } from '../import/imported.ts'
import { readLaunchDarkly } from '../import/launchdarkly.ts'
import { type ImportedLink, readBitly, readShlink } from '../import/link-csv.ts'
import { readUnleash } from '../import/unleash.ts'
import { parseEventJson } from '../parse-json.ts'

type FlagOptions = {
  from: 'launchdarkly' | 'unleash'
  env: string
  attributes: 'context' | 'traits'
  dryRun?: boolean
}
type LinkOptions = { from: 'bitly' | 'shlink'; domain?: string; dryRun?: boolean }
type EventOptions = { from: 'mixpanel' | 'ga4'; dryRun?: boolean }

/** `waymark import flags`, `links` and `events` */
export const addImportCommands: AddCommands = (program, run) => {
  const all = program.command('import').description('import what other products have exported')
  const from = (command: Command, sources: string[]) =>
    command
      .argument('<file>', 'the exported file, - for standard input')
      .addOption(new Option('--from <product>', 'what exported it').choices(sources).makeOptionMandatory())
      .option('--dry-run', 'only say what would be imported')
  from(all.command('flags'), ['launchdarkly', 'unleash'])
    .description('create a decision for each flag; keys that are there already are left alone')
    .option('--env <environment>', 'the environment of LaunchDarkly to import', 'production')
    .addOption(
      new Option('--attributes <place>', 'where conditions find attributes')
        .choices(['context', 'traits'])
        .default('context'),
    )
    .action(run(importFlags))
  from(all.command('links'), ['bitly', 'shlink'])
    .description('create a short link for each row; a repeat changes nothing')
    .option('--domain <host>', 'a verified domain of the project')
    .action(run(importLinks))
  from(all.command('events'), ['mixpanel', 'ga4'])
    .description('store past events, one JSON object on each line; a repeat stores nothing twice')
    .action(run(importEvents))
}

/** What an import did, or would do. */
type Report = { dryRun: boolean; imported: number; existing: number; refused: Refused[] }

const report = ({ out }: Context, done: Report): void => {
  const { dryRun, imported, existing, refused } = done
  const verb = dryRun ? 'would be imported' : 'imported'
  const lines = refused.map(({ where, reason }) => `${where}: ${reason}`)
  out.result(
    done,
    [`${imported} ${verb}, ${existing} there already, ${refused.length} refused`, ...lines].join('\n'),
  )
  if (refused.length > 0) throw new CliError('', EXIT.refused)
}

/** Why the API refused something. @throws the error when it is not about the content */
const refusalOf = (error: unknown): string => {
  if (error instanceof ApiError && [400, 409, 413, 422].includes(error.status)) return messageOf(error)
  throw error
}

const FLAGS = { launchdarkly: readLaunchDarkly, unleash: readUnleash }

const importFlags = async (context: Context, file: string, options: FlagOptions): Promise<void> => {
  const content = parseFile(await readText(context, file))
  const read = FLAGS[options.from](content, { environment: options.env, root: options.attributes })
  const client = await context.client()
  const params = { path: { projectId: await context.projectId() } }
  const decisions = await Array.fromAsync(client.list('/api/projects/{projectId}/decisions', { params }))
  const known = new Set(decisions.map(({ key }) => key))
  const isKnown = ({ decision }: ImportedFlag) => known.has(decision.key)
  const wanted = inOrder(read.items.filter((flag) => !isKnown(flag)))
  const done: Report = {
    dryRun: options.dryRun ?? false,
    imported: 0,
    existing: read.items.filter(isKnown).length,
    refused: read.refused,
  }
  for (const flag of wanted) {
    try {
      if (!done.dryRun) await createFlag(client, params.path, flag)
      done.imported++
    } catch (error) {
      done.refused.push({ where: flag.decision.key, reason: refusalOf(error) })
    }
  }
  report(context, done)
}

const createFlag = async (
  client: Client,
  path: { projectId: string },
  { decision, isOn }: ImportedFlag,
): Promise<void> => {
  await client.post('/api/projects/{projectId}/decisions', { params: { path }, body: decision as never })
  if (!isOn) return
  await client.post('/api/projects/{projectId}/decisions/{key}/activate', {
    params: { path: { ...path, key: decision.key } },
  })
}

/** Flags after those that they depend on. */
const inOrder = (flags: readonly ImportedFlag[]): ImportedFlag[] => {
  const byKey = new Map(flags.map((flag) => [flag.decision.key, flag]))
  const ordered = new Set<ImportedFlag>()
  const visiting = new Set<ImportedFlag>()
  const visit = (flag: ImportedFlag): void => {
    if (ordered.has(flag) || visiting.has(flag)) return
    visiting.add(flag)
    for (const { prerequisites = [] } of flag.decision.rules)
      for (const { decision } of prerequisites) {
        const other = byKey.get(decision)
        if (other) visit(other)
      }
    ordered.add(flag)
  }
  for (const flag of flags) visit(flag)
  return [...ordered]
}

const LINKS = { bitly: readBitly, shlink: readShlink }
const MAX_LINKS_PER_REQUEST = 500

const importLinks = async (context: Context, file: string, options: LinkOptions): Promise<void> => {
  const { items, refused }: Imported<ImportedLink> = LINKS[options.from](
    await readText(context, file),
    options,
  )
  const done: Report = { dryRun: options.dryRun ?? false, imported: 0, existing: 0, refused }
  if (done.dryRun) return report(context, { ...done, imported: items.length })
  const client = await context.client()
  const params = { path: { projectId: await context.projectId() } }
  for (let start = 0; start < items.length; start += MAX_LINKS_PER_REQUEST) {
    const links = items.slice(start, start + MAX_LINKS_PER_REQUEST)
    const { created, existing, results } = await client.post('/api/projects/{projectId}/links/bulk', {
      params,
      body: { links },
    })
    done.imported += created
    done.existing += existing
    for (const { index, errors = [] } of results.filter(({ status }) => status === 'failed')) {
      const reasons = errors.map(({ field, message }) => `${field} ${message}`.trim())
      refused.push({ where: links[index]?.code ?? `${index}`, reason: reasons.join('; ') })
    }
  }
  report(context, done)
}

const EVENTS = { mixpanel: readMixpanel, ga4: readGa4 }
/** Bytes and messages of a request. The API takes 500 KiB. */
const MAX_BATCH_BYTES = 400 * 1024
const MAX_BATCH_MESSAGES = 1_000

const importEvents = async (context: Context, file: string, options: EventOptions): Promise<void> => {
  const done: Report = { dryRun: options.dryRun ?? false, imported: 0, existing: 0, refused: [] }
  const client = done.dryRun ? undefined : await context.client()
  let batch: ImportedMessage[] = []
  let bytes = 0
  const flush = async (): Promise<void> => {
    if (batch.length === 0) return
    await client?.post('/v1/import', { body: { batch } })
    done.imported += batch.length
    batch = []
    bytes = 0
  }
  let number = 0
  for await (const line of linesOf(context, file)) {
    number++
    if (line.trim() === '') continue
    try {
      const message = EVENTS[options.from](parseLine(line))
      const size = Buffer.byteLength(JSON.stringify(message)) + 1
      if (bytes + size > MAX_BATCH_BYTES || batch.length === MAX_BATCH_MESSAGES) await flush()
      batch.push(message)
      bytes += size
    } catch (error) {
      if (!(error instanceof Unsupported)) throw error
      done.refused.push({ where: `line ${number}`, reason: error.message })
    }
  }
  await flush()
  report(context, done)
}

const parseLine = (line: string): JsonObject => {
  try {
    const value = parseEventJson(line)
    if (isObject(value)) return value
  } catch {
    // It is refused like a line that is no object.
  }
  throw new Unsupported('it is no JSON object')
}

/** The lines of a file, which may be larger than the memory and compressed with gzip. */
const linesOf = async function* ({ io }: Context, file: string): AsyncIterable<string> {
  const raw =
    file === '-' ? Readable.from([await io.readStdin()]) : createReadStream(path.resolve(io.cwd, file))
  const input = file.endsWith('.gz') ? raw.pipe(createGunzip()) : raw
  const failed = (error: Error) => input.destroy(error)
  raw.on('error', failed)
  try {
    yield* createInterface({ input, crlfDelay: Number.POSITIVE_INFINITY })
  } catch (error) {
    throw new CliError(`Cannot read ${file}: ${(error as Error).message}`)
  }
}

const readText = ({ io }: Context, file: string): Promise<string> =>
  file === '-'
    ? io.readStdin()
    : readFile(path.resolve(io.cwd, file), 'utf8').catch((error: Error) => {
        throw new CliError(`Cannot read ${file}: ${error.message}`)
      })

const parseFile = (text: string): unknown => {
  try {
    return JSON.parse(text)
  } catch {
    throw new CliError('The file is no JSON')
  }
}
