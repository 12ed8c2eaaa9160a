import { type Client, ConnectionError } from '@waymark/client'
import type { AddCommands } from '../command.ts'
import { type Context, DEFAULT_URL, type Io } from '../context.ts'
import { readCredentials } from '../credentials.ts'
import { CliError, EXIT, messageOf } from '../exit-codes.ts'
import { VERSION } from '../version.ts'

/** What a check found. */
type Finding = { check: string; status: 'ok' | 'warning' | 'problem'; message: string }
type Result = Omit<Finding, 'check'>

/** A larger difference of the clocks spoils the times of events and the expiry of tokens. */
const MAX_CLOCK_DIFFERENCE_MS = 5_000
const MAX_LAG = 10_000
const MAX_OUTBOX_SECONDS = 60
const EXPIRES_SOON_MS = 14 * 24 * 60 * 60 * 1_000

const ok = (message: string): Result => ({ status: 'ok', message })
const warning = (message: string): Result => ({ status: 'warning', message })
const problem = (message: string): Result => ({ status: 'problem', message })

/** `waymark doctor` */
export const addDoctorCommand: AddCommands = (program, run) => {
  program
    .command('doctor')
    .description('check an installation: address, version, readiness, clock, token, pipeline and keys')
    .action(
      run(async (context) => {
        const findings = await examine(context, program.opts<{ url?: string }>().url)
        context.out.table({ findings }, findings, ['check', 'status', 'message'])
        if (findings.some(({ status }) => status === 'problem')) throw new CliError('', EXIT.negative)
      }),
    )
}

const examine = async (context: Context, given: string | undefined): Promise<Finding[]> => {
  const findings: Finding[] = []
  /** Records what a check finds; an error is a problem. Resolves to whether there was none. */
  const check = async (name: string, find: () => Promise<Result>): Promise<boolean> => {
    const result = await find().catch((error: unknown) => problem(messageOf(error)))
    findings.push({ check: name, ...result })
    return result.status !== 'problem'
  }
  const { io } = context
  const url = given || io.env.WAYMARK_URL || (await readCredentials(io.env)).url || DEFAULT_URL
  let date: string | null = null
  const reached = await check('address', async () => {
    const { response, text } = await ask(io, url, '/')
    date = response.headers.get('Date')
    return describeServer(url, response.status, text)
  })
  if (!reached) return findings
  await check('readiness', async () => {
    const { response } = await ask(io, url, '/readyz')
    return response.ok
      ? ok('migrations are applied, and the stores answer')
      : problem(`/readyz answers ${response.status}: a migration is missing, or a store does not answer`)
  })
  await check('clock', async () => describeClock(date))
  const signedIn = await check('token', async () => {
    const client = await context.client()
    const project = await client.get('/api/projects/{projectId}', {
      params: { path: { projectId: await context.projectId() } },
    })
    return ok(`project ${project.name} (${project.role ?? 'API key'})`)
  })
  if (!signedIn) return findings
  const client = await context.client()
  const projectId = await context.projectId()
  await check('pipeline', () => examinePipeline(client, projectId))
  await check('keys', () => examineKeys(client, projectId))
  return findings
}

/** Reads a path without a token. @throws ConnectionError without an answer */
const ask = async (io: Io, url: string, path: string): Promise<{ response: Response; text: string }> => {
  if (!URL.canParse(url)) throw new CliError(`The address must be an http or https URL, and is ${url}`)
  const request = new Request(url.replace(/\/+$/, '') + path, {
    headers: { Accept: 'application/json' },
    signal: io.signal,
  })
  try {
    const response = await (io.fetch ?? fetch)(request)
    return { response, text: await response.text() }
  } catch (error) {
    throw new ConnectionError(`GET ${path}`, url, error)
  }
}

const describeServer = (url: string, status: number, text: string): Result => {
  const body = jsonOrUndefined(text) as { name?: unknown; version?: unknown; apps?: unknown[] } | undefined
  if (typeof body?.version !== 'string') return problem(`${url} answers ${status}, but is not Waymark`)
  const apps = `${body.apps?.length ?? 0} apps`
  return minor(body.version) === minor(VERSION)
    ? ok(`${url} runs Waymark ${body.version} (${apps})`)
    : warning(`${url} runs Waymark ${body.version}, and this is the command of ${VERSION}`)
}

const minor = (version: string): string => version.split('.').slice(0, 2).join('.')

const jsonOrUndefined = (text: string): unknown => {
  try {
    return JSON.parse(text)
  } catch {
    return undefined
  }
}

const describeClock = (date: string | null): Result => {
  if (date === null) return warning('the server does not say what time it is')
  const difference = Date.now() - Date.parse(date)
  const seconds = Math.round(Math.abs(difference) / 1_000)
  return Math.abs(difference) <= MAX_CLOCK_DIFFERENCE_MS
    ? ok('the clocks of server and client agree')
    : problem(`the clocks of server and client differ by ${seconds} s: check NTP on both`)
}

const examinePipeline = async (client: Client, projectId: string): Promise<Result> => {
  const { consumerGroups, outbox, rejectedEvents, deadLetters } = await client.get(
    '/api/projects/{projectId}/stats/pipeline',
    { params: { path: { projectId } } },
  )
  if (consumerGroups === null) return problem('the queue does not answer')
  const late = consumerGroups.filter(({ lag }) => lag > MAX_LAG)
  if (late.length > 0)
    return problem(
      `behind: ${late.map(({ group, topic, lag }) => `${group} by ${lag} on ${topic}`).join(', ')}`,
    )
  if (outbox.oldestSeconds > MAX_OUTBOX_SECONDS)
    return problem(`${outbox.records} records wait to be published, the oldest for ${outbox.oldestSeconds} s`)
  if (rejectedEvents + deadLetters > 0)
    return warning(`nothing waits; ${rejectedEvents} rejected events and ${deadLetters} dead letters`)
  return ok('nothing waits, nothing was rejected')
}

const examineKeys = async (client: Client, projectId: string): Promise<Result> => {
  const params = { path: { projectId } }
  const keys = await Array.fromAsync(client.list('/api/projects/{projectId}/api-keys', { params }))
  const usable = keys.filter(({ revokedAt }) => revokedAt === null)
  const until = (at: string | null) => (at === null ? Number.POSITIVE_INFINITY : Date.parse(at) - Date.now())
  const ending = usable.filter(({ expiresAt }) => until(expiresAt) < EXPIRES_SOON_MS)
  if (ending.length > 0) return warning(`expire within 14 days: ${ending.map(({ name }) => name).join(', ')}`)
  const limited = usable.filter(({ kind, requestsPerMinute }) => kind === 'sec' && requestsPerMinute === null)
  if (limited.length > 0)
    return warning(
      `keys of servers that are limited like one visitor, without requestsPerMinute: ${limited.map(({ name }) => name).join(', ')}`,
    )
  return ok(`${usable.length} usable keys`)
}
