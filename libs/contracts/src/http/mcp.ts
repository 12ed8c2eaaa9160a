import { Type } from 'typebox'
import { ErrorBody } from './error-bodies.ts'
import { defineOperation } from './operation.ts'

const Message = Type.Unsafe<unknown>(
  Type.Object({}, { additionalProperties: true, description: 'A message of JSON-RPC 2.0.' }),
)

export const callMcp = defineOperation({
  id: 'callMcp',
  method: 'post',
  path: '/mcp',
  tag: 'Assistants',
  summary: 'Call the server of the Model Context Protocol (streamable HTTP)',
  description:
    'For assistants, with a personal access token as `Authorization: Bearer`. It keeps no sessions and answers with JSON. ' +
    'Tools have the permissions of the token.',
  access: { by: 'session' },
  effects: [],
  takesLong: true,
  forPrograms: true,
  query: Type.Object({
    projectId: Type.Optional(
      Type.String({ format: 'uuid', description: 'Required for a token that reaches several projects.' }),
    ),
    writes: Type.Optional(
      Type.Boolean({ description: 'Whether tools that change the project are offered. Default: false.' }),
    ),
  }),
  body: Message,
  answers: {
    200: { description: 'The answer to the message', schema: Message },
    202: { description: 'The message needs no answer' },
    400: { description: 'The message is not one of the protocol, or names no project', schema: ErrorBody },
  },
})

/** The operations for assistants. */
export const mcpOperations = [callMcp]
