import { readFile } from 'node:fs/promises'
import path from 'node:path'
import { ApiError } from '@waymark/client'
import { MAX_EVENTS_PER_REQUEST } from '@waymark/contracts/http/track-request'
import { type AddCommands, collect } from '../command.ts'
import type { Context } from '../context.ts'
import { CliError, EXIT } from '../exit-codes.ts'
import { parseEventJson } from '../parse-json.ts'
import { readServerEvents } from '../server-events.ts'

type TailOptions = { event?: string; visitor?: string; user?: string; count?: string }
type SendOptions = {
  user?: string
  visitor?: string
  property: string[]
  properties?: string
  file?: string
  sync?: boolean
}
type LiveEvent = { receivedAt: string; eventName: string; userId: string | null; visitorId: string | null }

/** `waymark events tail` and `waymark events send` */
export const addEventCommands: AddCommands = (program, run) => {
  const events = program.command('events').description('follow and send events')
  events
    .command('tail')
    .description('follow events as they are stored; with --json one per line')
    .option('--event <name>', 'events of this name')
    .option('--visitor <id>', 'events of this visitor')
    .option('--user <id>', 'events of this user')
    .option('--count <n>', 'end after this many events')
    .action(run(tail))
  events
    .command('send')
    .description('send one event, or those of a file with a JSON event on each line (- for standard input)')
    .argument('[name]', 'the name of the event')
    .option('--user <id>', 'the user')
    .option('--visitor <id>', 'the visitor')
    .option('-p, --property <name=value>', 'a property; its value is JSON or else text', collect, [])
    .option('--properties <json>', 'all properties as a JSON object')
    .option('--file <file>', 'JSON lines in place of one event')
    .option('--sync', 'wait until the events can be read')
    .action(run(send))
}

const tail = async (context: Context, options: TailOptions): Promise<void> => {
  const { io, out } = context
  const [client, projectId] = [await context.client(), await context.projectId()]
  const limit = options.count === undefined ? Number.POSITIVE_INFINITY : countOf(options.count)
  const stream = await client.get('/api/projects/{projectId}/events/stream', {
    params: {
      path: { projectId },
      query: {
        ...(options.event && { eventName: options.event }),
        ...(options.visitor && { visitorId: options.visitor }),
        ...(options.user && { userId: options.user }),
      },
    },
    parseAs: 'stream',
    signal: io.signal,
  })
  out.note('Waiting for events. Press Ctrl+C to end.')
  let seen = 0
  for await (const { event, data } of readServerEvents(stream as ReadableStream<Uint8Array>)) {
    if (event === 'end') throw new CliError('The access to the project has ended', EXIT.notAllowed)
    if (event === 'gap') out.note(`Events were skipped: ${data}`)
    if (event !== 'message') continue
    const live = JSON.parse(data) as LiveEvent
    out.line(live, `${live.receivedAt}  ${live.eventName}  ${live.userId ?? live.visitorId ?? ''}`)
    if (++seen >= limit) return
  }
  throw new CliError('The server has ended the stream', EXIT.unavailable)
}

const countOf = (text: string): number => {
  const count = Number(text)
  if (!Number.isInteger(count) || count < 1)
    throw new CliError(`--count must be an integer from 1, not ${text}`)
  return count
}

type TrackResult = { accepted: number; failed: number; errors?: Problem[]; invalid?: Problem[] }
type Problem = { index: number }
type EventBody = { eventName: string; [field: string]: unknown }

const send = async (context: Context, name: string | undefined, options: SendOptions): Promise<void> => {
  if ((name === undefined) === (options.file === undefined))
    throw new CliError('Give the name of an event, or --file')
  const events =
    options.file === undefined ? [eventOf(name ?? '', options)] : await readEvents(context, options.file)
  const client = await context.client()
  let [accepted, failed] = [0, 0]
  const problems: unknown[] = []
  for (let start = 0; start < events.length; start += MAX_EVENTS_PER_REQUEST) {
    const result = await client
      .post('/api/v1/t', {
        body: { events: events.slice(start, start + MAX_EVENTS_PER_REQUEST) },
        ...(options.sync && { params: { query: { sync: '1' as const } } }),
      })
      .then((sent): TrackResult => sent, refusalOf)
    accepted += result.accepted
    failed += result.failed
    for (const problem of result.errors ?? result.invalid ?? [])
      problems.push({ ...problem, index: problem.index + start })
  }
  context.out.result(
    { accepted, failed, problems },
    [`${accepted} accepted, ${failed} refused`, ...problems.map((one) => JSON.stringify(one))].join('\n'),
  )
  if (failed > 0) throw new CliError('', EXIT.refused)
}

/** The answer when every event is refused says why. @throws the error when it does not */
const refusalOf = (error: unknown): TrackResult => {
  const body = error instanceof ApiError ? (error.body as Partial<TrackResult> | undefined) : undefined
  if (body?.accepted === undefined || body.failed === undefined) throw error
  return { ...body, accepted: body.accepted, failed: body.failed }
}

const eventOf = (eventName: string, { user, visitor, property, properties }: SendOptions): EventBody => {
  const all: unknown = properties === undefined ? {} : requireJson(properties, '--properties')
  if (typeof all !== 'object' || all === null || Array.isArray(all))
    throw new CliError('--properties must be a JSON object')
  return {
    eventName,
    ...(user && { userId: user }),
    ...(visitor && { visitorId: visitor }),
    properties: { ...all, ...Object.fromEntries(property.map(propertyOf)) },
  }
}

/** `total=4990` is a number, `plan=pro` a text. */
const propertyOf = (text: string): [string, unknown] => {
  const at = text.indexOf('=')
  if (at < 1) throw new CliError(`--property must be name=value, not ${text}`)
  const value = text.slice(at + 1)
  try {
    return [text.slice(0, at), parseEventJson(value)]
  } catch {
    return [text.slice(0, at), value]
  }
}

const readEvents = async ({ io }: Context, file: string): Promise<EventBody[]> => {
  const text = file === '-' ? await io.readStdin() : await readText(path.resolve(io.cwd, file))
  return text
    .split('\n')
    .map((line, index): [string, number] => [line.trim(), index + 1])
    .filter(([line]) => line !== '')
    .map(([line, number]) => requireJson(line, `Line ${number}`) as EventBody)
}

const readText = (file: string): Promise<string> =>
  readFile(file, 'utf8').catch((error: Error) => {
    throw new CliError(`Cannot read ${file}: ${error.message}`)
  })

const requireJson = (text: string, where: string): unknown => {
  try {
    return parseEventJson(text)
  } catch {
    throw new CliError(`${where} is not JSON: ${text.slice(0, 100)}`)
  }
}
