import { mkdtemp, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import path from 'node:path'
import type { Constellation } from '@waymark/testing'
import { runCli } from '../src/cli.ts'

/** What a run of the command has written, and its exit code. */
export type Run = { code: number; out: string; err: string }
export type RunOptions = {
  token?: string
  env?: Record<string, string>
  stdin?: string
  cwd?: string
  signal?: AbortSignal
  fetch?: (request: Request) => Promise<Response>
}

/** Runs the command against a server, with an API key or a token. */
export const createRunner = (waymark: () => Constellation, folder: () => string) => {
  const run = async (args: string[], options: RunOptions = {}): Promise<Run> => {
    const { token = waymark().apiKey, env = {}, stdin = '', cwd = folder(), signal } = options
    let [out, err] = ['', '']
    const code = await runCli(args, {
      env: {
        XDG_CONFIG_HOME: path.join(folder(), 'config'),
        WAYMARK_URL: 'http://waymark.test',
        WAYMARK_PROJECT: waymark().projectId,
        ...(token && { WAYMARK_TOKEN: token }),
        ...env,
      },
      cwd,
      stdout: { write: (text) => (out += text) },
      stderr: { write: (text) => (err += text) },
      isTerminal: false,
      readStdin: async () => stdin,
      signal: signal ?? new AbortController().signal,
      fetch: options.fetch ?? ((request) => toServer(waymark(), request)),
    })
    return { code, out, err }
  }
  /** The result of a run as JSON. @throws Error when it has failed */
  const json = async <T = Record<string, unknown>>(args: string[], options: RunOptions = {}): Promise<T> => {
    const { code, out, err } = await run([...args, '--json'], options)
    if (code !== 0) throw new Error(`waymark ${args.join(' ')} ended with ${code}:\n${out}${err}`)
    return JSON.parse(out) as T
  }
  return { run, json }
}

/** Sends a request to the server of a test. */
export const toServer = async (waymark: Constellation, request: Request): Promise<Response> => {
  const { pathname, search } = new URL(request.url)
  return waymark.request(pathname + search, {
    method: request.method,
    headers: { ...Object.fromEntries(request.headers), 'X-API-Key': '' },
    signal: request.signal,
    ...(request.body !== null && { body: await request.bytes() }),
  })
}

/** A personal access token of the owner of the demo project. */
export const createToken = async (
  waymark: Constellation,
  { email, password }: { email: string; password: string },
): Promise<string> => {
  const send = (where: string, body: unknown, headers: Record<string, string> = {}) =>
    waymark.request(where, {
      method: 'POST',
      headers: { 'X-API-Key': '', 'Content-Type': 'application/json', ...headers },
      body: JSON.stringify(body),
    })
  const signedIn = await send('/api/auth/login', { email, password })
  const cookie = signedIn.headers.get('Set-Cookie')?.split(';')[0] ?? ''
  const expiresAt = new Date(Date.now() + 24 * 60 * 60 * 1_000).toISOString()
  const created = await send(
    '/api/auth/access-tokens',
    { name: 'Test', projectIds: null, expiresAt },
    { Cookie: cookie, Origin: new URL(signedIn.url).origin },
  )
  const { token } = (await created.json()) as { token?: string }
  if (!token) throw new Error(`No token was created: ${created.status}`)
  return token
}

/** A folder that is removed at the end. */
export const temporaryFolder = async (): Promise<{ folder: string; remove: () => Promise<void> }> => {
  const folder = await mkdtemp(path.join(tmpdir(), 'waymark-cli-'))
  return { folder, remove: () => rm(folder, { recursive: true, force: true }) }
}
