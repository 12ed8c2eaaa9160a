import { Server } from '@modelcontextprotocol/sdk/server/index.js'
import { CallToolRequestSchema, ListToolsRequestSchema } from '@modelcontextprotocol/sdk/types.js'
import type { Client } from '@waymark/client'
import { ApiError, ConnectionError } from '@waymark/client'
import { createToolbox, MCP_INSTRUCTIONS, ToolError } from '@waymark/contracts/mcp/toolbox'
import { send } from '../configuration/project.ts'
import { messageOf } from '../exit-codes.ts'

export type McpOptions = {
  client: Client
  projectId: string
  version: string
  /** Whether tools may change the project. */
  writes: boolean
}

/** A server of the Model Context Protocol with the permissions of the client's token. */
export const createMcpServer = ({ client, projectId, version, writes }: McpOptions): Server => {
  const toolbox = createToolbox({
    writes,
    send: async (operation, { path, query, body }) => {
      try {
        return (await send(client, operation, { projectId, ...path }, { query, ...(body && { body }) })).data
      } catch (error) {
        if (!(error instanceof ApiError || error instanceof ConnectionError)) throw error
        throw new ToolError(messageOf(error))
      }
    },
  })
  const server = new Server(
    { name: 'waymark', version },
    { capabilities: { tools: {} }, instructions: MCP_INSTRUCTIONS },
  )
  server.setRequestHandler(ListToolsRequestSchema, () => ({ tools: toolbox.list() }))
  server.setRequestHandler(CallToolRequestSchema, ({ params }) => toolbox.call(params.name, params.arguments))
  return server
}
