import { type Client, createClient } from '@waymark/client'
import { type Env, readCredentials } from './credentials.ts'
import { CliError, EXIT } from './exit-codes.ts'
import { type Format, Output, type Sink } from './output.ts'

/** What the command gets from its process. */
export type Io = {
  env: Env
  cwd: string
  stdout: Sink
  stderr: Sink
  /** Whether standard input is a terminal. */
  isTerminal: boolean
  /** Reads standard input to its end. */
  readStdin(): Promise<string>
  /** Aborted when the user interrupts the command. */
  signal: AbortSignal
  /** Replaces the global `fetch`. For tests. */
  fetch?: (request: Request) => Promise<Response>
}

/** The options of every command. */
export type GlobalOptions = { url?: string; project?: string; json?: boolean; csv?: boolean }

/** What commands share: the output, the client and the project. */
export type Context = {
  io: Io
  out: Output
  /** The address, token and project from options, environment and the kept credentials, in this order. */
  settings(): Promise<{ url: string; token: string; project: string | undefined }>
  /** @throws CliError without a token */
  client(): Promise<Client>
  /** The id of the project. @throws CliError when it is not clear which one is meant */
  projectId(): Promise<string>
}

export const DEFAULT_URL = 'http://localhost:8080'
const UUID = /^[\da-f]{8}(?:-[\da-f]{4}){3}-[\da-f]{12}$/i

export const createContext = (io: Io, options: GlobalOptions): Context => {
  const out = new Output(formatOf(options), io.stdout, io.stderr)
  const settings: Context['settings'] = async () => {
    const kept = await readCredentials(io.env)
    const url = options.url || io.env.WAYMARK_URL || kept.url || DEFAULT_URL
    // The kept token belongs to one address and must not be sent to another.
    const token = io.env.WAYMARK_TOKEN || (kept.url === url ? kept.token : undefined)
    if (!token)
      throw new CliError(`No token for ${url}: run \`waymark login\` or set WAYMARK_TOKEN`, EXIT.notAllowed)
    const keptProject = kept.url === url ? kept.project : undefined
    return { url, token, project: options.project || io.env.WAYMARK_PROJECT || keptProject }
  }
  let client: Client | undefined
  const connect = async (): Promise<Client> => {
    if (client) return client
    const { url, token } = await settings()
    client = clientFor(io, url, token)
    return client
  }
  return {
    io,
    out,
    settings,
    client: connect,
    projectId: async () => {
      const { project, token } = await settings()
      if (project && UUID.test(project)) return project
      return findProject(await connect(), token, project)
    },
  }
}

/** A client for an address and a token. @throws CliError for an address that is no URL */
export const clientFor = (io: Io, url: string, token: string): Client => {
  if (!URL.canParse(url) || !/^https?:/.test(url))
    throw new CliError(`The address must be an http or https URL, and is ${url}`)
  return createClient({ baseUrl: url, token, ...(io.fetch && { fetch: io.fetch }) })
}

/** The id of the project with a name, or of the only one. */
const findProject = async (client: Client, token: string, name: string | undefined): Promise<string> => {
  // An API key cannot list projects.
  if (!token.startsWith('wm_pat_'))
    throw new CliError('With an API key, name its project by its id: --project or WAYMARK_PROJECT')
  const projects = await Array.fromAsync(client.list('/api/projects'))
  const found = name === undefined ? projects : projects.filter((one) => one.name === name)
  const [first, second] = found
  if (first && !second) return first.id
  const list = projects.map((one) => `  ${one.id}  ${one.name}`).join('\n')
  if (!first) throw new CliError(`There is no project ${name ?? ''}. You have:\n${list}`, EXIT.notFound)
  throw new CliError(`Choose a project by its id or name, with --project or WAYMARK_PROJECT:\n${list}`)
}

const formatOf = ({ json, csv }: GlobalOptions): Format => {
  if (json) return 'json'
  return csv ? 'csv' : 'text'
}
