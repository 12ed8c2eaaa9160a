import { type Static, Type } from 'typebox'
import { Id, NullableTimestamp, Timestamp } from '../schema-parts.ts'
import { AccountView, Email, NewPassword, notFound, openAnswers, PersonName, Role } from './account-parts.ts'
import { ErrorBody } from './error-bodies.ts'
import { defineOperation } from './operation.ts'
import { PageQuery, pageOf } from './page.ts'

const NewInvitation = Type.Object({ email: Email, role: Role })

const status = ['pending', 'accepted', 'revoked', 'expired'] as const
export const InvitationView = Type.Object({
  id: Id,
  email: Type.String(),
  role: Role,
  status: Type.Unsafe<(typeof status)[number]>({ enum: status }),
  invitedBy: Type.Unsafe<string | null>({
    type: ['string', 'null'],
    format: 'uuid',
    description: 'The user who invited, or the owner of the key that did; null when the key has no owner.',
  }),
  createdAt: Timestamp,
  expiresAt: Timestamp,
  acceptedAt: NullableTimestamp,
  revokedAt: NullableTimestamp,
})

const NewInvitationView = Type.Object({
  ...InvitationView.properties,
  token: Type.String({ description: 'The token to accept the invitation with. It is shown only once.' }),
})

const Acceptance = Type.Object({
  token: Type.String({ maxLength: 200, writeOnly: true }),
  name: Type.Optional(PersonName),
  password: Type.Optional(NewPassword),
})
export type Acceptance = Static<typeof Acceptance>

const tag = 'Members'
const collection = '/api/projects/{projectId}/invitations'
const access = { by: 'project', role: 'admin' } as const

export const createInvitation = defineOperation({
  id: 'createInvitation',
  method: 'post',
  path: collection,
  tag,
  summary: 'Invite a person to a project',
  description:
    'The role must not exceed that of the caller; `owner` needs a caller who has signed in within 10 minutes or has ' +
    'proved who they are. The token is valid once and for 7 days. A new invitation replaces an older one to the same address.',
  access: { ...access, tokens: false },
  effects: ['role'],
  body: NewInvitation,
  answers: { 201: { description: 'The invitation', schema: NewInvitationView } },
})

export const listInvitations = defineOperation({
  id: 'listInvitations',
  method: 'get',
  path: collection,
  tag,
  summary: 'List invitations, including accepted and revoked ones',
  access,
  query: PageQuery,
  answers: {
    200: { description: 'A page of invitations, the newest first', schema: pageOf(InvitationView) },
  },
})

export const revokeInvitation = defineOperation({
  id: 'revokeInvitation',
  method: 'delete',
  path: `${collection}/{id}`,
  tag,
  summary: 'Revoke an invitation',
  access,
  effects: [],
  answers: { 204: { description: 'Revoked' } },
})

export const acceptInvitation = defineOperation({
  id: 'acceptInvitation',
  method: 'post',
  path: '/api/auth/invitations/accept',
  tag,
  summary: 'Accept an invitation',
  description:
    'Accept with a session of the invited address, or send `name` and `password` to create an account.',
  access: { by: 'anyone' },
  management: true,
  limited: true,
  body: Acceptance,
  answers: {
    200: { description: 'The account, now with the project', schema: AccountView },
    401: { description: 'The request has neither a session nor a name and a password', schema: ErrorBody },
    ...notFound,
    ...openAnswers,
  },
})

export const invitationOperations = [createInvitation, listInvitations, revokeInvitation, acceptInvitation]
