import { type Static, Type } from 'typebox'
import { Id, NullableString, Timestamp } from '../schema-parts.ts'
import { defineOperation } from './operation.ts'
import { equalTo, pageOf, pageParameters } from './page.ts'

const AccessTokenOfActor = Type.Object({
  id: Id,
  name: Type.Unsafe<string | null>({
    type: ['string', 'null'],
    description: 'Null when it was revoked or has expired.',
  }),
})

export const AuditEntryView = Type.Object({
  id: Id,
  actor: Type.Object({
    kind: Type.Enum(['user', 'key', 'operator', 'system']),
    id: Type.String({
      ...Id,
      description: 'The user or the key; zeros for the operator of the deployment and for the system.',
    }),
    name: Type.Unsafe<string | null>({
      type: ['string', 'null'],
      description: 'The email address of the user or the name of the key; null when it no longer exists.',
    }),
    accessToken: Type.Unsafe<{ id: string; name: string | null } | null>({
      anyOf: [AccessTokenOfActor, { type: 'null' }],
      description: 'The personal access token that the user sent; null for a session and for a key.',
    }),
  }),
  operation: Type.String({
    description: 'The id of an operation, such as `createApiKey`, or a command of the operator.',
  }),
  resourceId: Type.Unsafe<string | null>({
    type: ['string', 'null'],
    description: 'The id of the resource that was created or changed.',
  }),
  fields: Type.Array(Type.String(), {
    description: 'The names of the fields in the request, without their values.',
  }),
  reason: Type.Unsafe<string | null>({
    type: ['string', 'null'],
    description:
      'Why they did it, such as the reason of `bypassProposal`; null for operations that need none.',
  }),
  network: Type.Unsafe<string | null>({
    type: ['string', 'null'],
    description: 'The network of the client: a /24 for IPv4, a /48 for IPv6.',
  }),
  requestId: NullableString,
  at: Timestamp,
})

const time = (description: string) => Type.Optional(Type.String({ ...Timestamp, maxLength: 40, description }))

const AuditQuery = Type.Object({
  ...pageParameters,
  operation: equalTo('Of this operation.'),
  actorId: Type.Optional(Type.String({ ...Id, description: 'Only entries of this user or key.' })),
  resourceId: equalTo('About this resource.'),
  from: time('Not before.'),
  to: time('Before.'),
})
export type AuditQuery = Static<typeof AuditQuery>

export const listAuditLog = defineOperation({
  id: 'listAuditLog',
  method: 'get',
  path: '/api/projects/{projectId}/audit-log',
  tag: 'Audit log',
  summary: 'List who changed what, and when members signed in',
  access: { by: 'project', role: 'admin' },
  query: AuditQuery,
  answers: { 200: { description: 'A page of entries, the newest first', schema: pageOf(AuditEntryView) } },
})

export const auditLogOperations = [listAuditLog]
