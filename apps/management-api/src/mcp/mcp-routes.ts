import { Server } from '@modelcontextprotocol/sdk/server/index.js'
import { WebStandardStreamableHTTPServerTransport } from '@modelcontextprotocol/sdk/server/webStandardStreamableHttp.js'
import { CallToolRequestSchema, ListToolsRequestSchema } from '@modelcontextprotocol/sdk/types.js'
import { AppError } from '@waymark/contracts/app-error'
import { callMcp } from '@waymark/contracts/http/mcp'
import { listProjects } from '@waymark/contracts/http/projects'
import { createToolbox, MCP_INSTRUCTIONS } from '@waymark/contracts/mcp/toolbox'
import { chargeUser, guardedRoute, type HttpRequest, type Route } from '@waymark/service-kit'
import type { Session } from '../accounts/session-queries.ts'
import { type Parts, readParts } from '../http/request-parts.ts'
import { requireSession } from '../http/session-cookie.ts'
import type { ManagementDeps } from '../management-deps.ts'
import { type AskApi, createAskApi } from './ask-api.ts'

/** The server of the Model Context Protocol. Each request is a server of its own, so any process can answer it. */
export const mcpRoutes = ({ sessions }: Pick<ManagementDeps, 'sessions'>): Route[] => [
  guardedRoute<Session, McpParts>(
    callMcp,
    async (request) => {
      const session = await requireSession(sessions, request)
      chargeUser(session.user.id, 'general')
      return session
    },
    async (request, { kind }, { body, query }) => {
      // Pages hold sessions, and an assistant must not act with one.
      if (kind !== 'access-token')
        throw new AppError('forbidden', 'Send a personal access token as Authorization: Bearer')
      const ask = createAskApi(request)
      const projectId = query.projectId ?? (await onlyProject(ask))
      return answer(createServer(ask, projectId, query.writes ?? false), request, body)
    },
    { read: (request) => readParts(callMcp, request) },
  ),
]

type McpParts = Parts<unknown, { projectId?: string; writes?: boolean }>

/** @throws AppError bad_request when the token reaches several projects, or none */
const onlyProject = async (ask: AskApi): Promise<string> => {
  const { data } = (await ask(listProjects, { path: {}, query: { limit: 2 }, body: undefined })) as {
    data: { id: string }[]
  }
  const [project, another] = data
  if (!project || another)
    throw new AppError(
      'bad_request',
      `The query parameter projectId is required: the token reaches ${project ? 'several projects' : 'no project'}`,
    )
  return project.id
}

const createServer = (ask: AskApi, projectId: string, writes: boolean): Server => {
  const toolbox = createToolbox({
    writes,
    send: (operation, { path, ...parts }) => ask(operation, { path: { projectId, ...path }, ...parts }),
  })
  const server = new Server(
    { name: 'waymark', version: '1' },
    { capabilities: { tools: {} }, instructions: MCP_INSTRUCTIONS },
  )
  server.setRequestHandler(ListToolsRequestSchema, () => ({ tools: toolbox.list() }))
  server.setRequestHandler(CallToolRequestSchema, ({ params }) => toolbox.call(params.name, params.arguments))
  return server
}

const VERSION_HEADER = 'mcp-protocol-version'

/** Has a server answer one message. @throws AppError bad_request when it is not one of the protocol */
const answer = async (server: Server, { headers }: HttpRequest, message: unknown) => {
  const transport = new WebStandardStreamableHTTPServerTransport({ enableJsonResponse: true })
  await server.connect(transport)
  try {
    const version = headers[VERSION_HEADER]
    const response = await transport.handleRequest(
      new Request('http://waymark/mcp', {
        method: 'POST',
        headers: {
          Accept: 'application/json, text/event-stream',
          'Content-Type': 'application/json',
          ...(typeof version === 'string' && { [VERSION_HEADER]: version }),
        },
      }),
      { parsedBody: message },
    )
    if (response.status === 202) return { status: 202 }
    const body: unknown = await response.json()
    if (response.ok) return { status: 200, body }
    const { error } = body as { error?: { message?: string } }
    throw new AppError('bad_request', error?.message ?? 'The body is not a message of the protocol')
  } finally {
    await server.close()
  }
}
