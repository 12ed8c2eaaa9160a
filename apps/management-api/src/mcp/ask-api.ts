import type { Operation } from '@waymark/contracts/http/operation'
import { ToolError, type ToolRequest } from '@waymark/contracts/mcp/toolbox'
import type { HttpRequest } from '@waymark/service-kit'

/** Calls an operation of this API and resolves to the JSON of its answer. @throws ToolError when it is refused */
export type AskApi = (operation: Pick<Operation, 'method' | 'path'>, request: ToolRequest) => Promise<unknown>

/** What says who asks: the token, and the client behind trusted proxies. */
const PASSED_ON = [
  'authorization',
  'x-forwarded-for',
  'x-forwarded-proto',
  'x-forwarded-host',
  'x-request-id',
]

/**
 * Calls the API as whoever sent a request. It is called over HTTP, at the address that the request came in at, so that
 * permissions, limits, validation and the audit log are those of any other request.
 */
export const createAskApi = ({ headers, message: { socket } }: HttpRequest): AskApi => {
  const own: Record<string, string> = {}
  for (const name of PASSED_ON) {
    const value = headers[name]
    if (typeof value === 'string') own[name] = value
  }
  const base = `http://${hostOf(socket.localAddress ?? '127.0.0.1')}:${socket.localPort}`
  return async ({ method, path: template }, { path, query, body }) => {
    const url = new URL(
      template.replaceAll(/\{(\w+)\}/g, (_all, name) => encodeURIComponent(path[name] ?? '')),
      base,
    )
    for (const [name, value] of Object.entries(query)) url.searchParams.set(name, textOf(value))
    const response = await fetch(url, {
      method: method.toUpperCase(),
      headers: { ...own, ...(body && { 'content-type': 'application/json' }) },
      ...(body && { body: JSON.stringify(body) }),
    })
    const text = await response.text()
    const answer: unknown = text === '' ? null : JSON.parse(text)
    if (!response.ok)
      throw new ToolError(refusalOf(`${method.toUpperCase()} ${template}`, response.status, answer))
    return answer
  }
}

const hostOf = (address: string): string => {
  const plain = address.replace(/^::ffff:/, '')
  return plain.includes(':') ? `[${plain}]` : plain
}

const textOf = (value: unknown): string => (typeof value === 'string' ? value : JSON.stringify(value))

/** A refusal with a line for each problem. */
const refusalOf = (operation: string, status: number, answer: unknown): string => {
  const { error, errors } = (answer ?? {}) as {
    error?: string
    errors?: { field?: string; message: string }[]
  }
  const problems = (errors ?? []).map(({ field, message }) => `  ${field ? `${field}: ` : ''}${message}`)
  return [`${operation} answered ${status}: ${error ?? 'no reason'}`, ...problems].join('\n')
}
