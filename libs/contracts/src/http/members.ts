import { Type } from 'typebox'
import { type ProjectRole, projectRoles } from '../project-role.ts'
import { Id, Timestamp } from '../schema-parts.ts'
import { notFound, Role } from './account-parts.ts'
import type { ConditionalEffect } from './effects.ts'
import { Unprocessable } from './error-bodies.ts'
import { defineOperation } from './operation.ts'
import { PageQuery, pageOf } from './page.ts'

const MemberView = Type.Object({
  id: Type.String({ ...Id, description: 'The user’s id.' }),
  email: Type.String(),
  name: Type.String(),
  role: Role,
  hasSecondFactor: Type.Boolean(),
  createdAt: Type.String({ ...Timestamp, description: 'When they joined.' }),
})

const tag = 'Members'
const collection = '/api/projects/{projectId}/members'
const access = { by: 'project', role: 'admin' } as const
const strongerOnly = 'A member with a stronger role than the caller cannot be changed or removed.'
const ranks: readonly unknown[] = projectRoles
const isStronger = (role: ProjectRole, before: unknown): boolean =>
  ranks.indexOf(role) > ranks.indexOf(before)
const endsOwnership: ConditionalEffect = {
  effect: 'ownership',
  described: 'the end of an owner’s membership',
  when: ({ before }) => before.role === 'owner',
}
const lastOwner = {
  422: { description: 'The last owner of a project cannot lose the role', schema: Unprocessable },
}

export const listMembers = defineOperation({
  id: 'listMembers',
  method: 'get',
  path: collection,
  tag,
  summary: 'List the members',
  access,
  query: PageQuery,
  answers: {
    200: { description: 'A page of members, the newest accounts first', schema: pageOf(MemberView) },
  },
})

export const changeMember = defineOperation({
  id: 'changeMember',
  method: 'patch',
  path: `${collection}/{id}`,
  tag,
  summary: 'Change the role of a member',
  description:
    `At most one’s own. ${strongerOnly} Invitations that they gave, or have yet to accept, are revoked, and so are ` +
    'their API keys with scopes beyond the new role.',
  access: { ...access, tokens: false },
  effects: [
    {
      effect: 'role',
      described: 'a stronger role',
      when: ({ body, before }) => isStronger(body.role, before.role),
    },
    {
      effect: 'ownership',
      described: 'a change of an owner',
      when: ({ body, before }) => body.role !== before.role && [body.role, before.role].includes('owner'),
    },
  ],
  body: Type.Object({ role: Role }),
  answers: { 200: { description: 'The member', schema: MemberView } },
})

export const removeMember = defineOperation({
  id: 'removeMember',
  method: 'delete',
  path: `${collection}/{id}`,
  tag,
  summary: 'Remove a member',
  description:
    `${strongerOnly} Invitations that they gave, or have yet to accept, are revoked. Their API keys are revoked as well, ` +
    'within 5 seconds, unless they are handed over.',
  access,
  effects: [endsOwnership],
  query: Type.Object({
    apiKeys: Type.Optional(
      Type.Enum(['revoke', 'handOver'], {
        default: 'revoke',
        description:
          '`handOver` makes the caller the owner of the member’s API keys. The keys do not change, and the removed ' +
          'member may still know them: rotate them.',
      }),
    ),
  }),
  answers: { 204: { description: 'Removed' }, ...lastOwner },
})

export const leaveProject = defineOperation({
  id: 'leaveProject',
  method: 'delete',
  path: `${collection}/me`,
  tag,
  summary: 'Leave a project',
  description: `The member’s API keys of the project are revoked within 5 seconds.`,
  access: { by: 'session' },
  effects: [endsOwnership],
  answers: { 204: { description: 'The caller is no longer a member' }, ...notFound, ...lastOwner },
})

export const resetSecondFactor = defineOperation({
  id: 'resetSecondFactor',
  method: 'delete',
  path: `${collection}/{id}/second-factor`,
  tag,
  summary: 'Remove the second factor of a member who has lost it',
  description:
    'All sessions of the member end, and they are notified by email. Refused for members who also belong to another ' +
    'tenant: their second factor protects that one as well.',
  access: { by: 'project', role: 'owner', tokens: false },
  effects: ['signIn'],
  answers: {
    204: { description: 'The member signs in with the password only' },
    422: { description: 'The member belongs to another tenant, or is the caller', schema: Unprocessable },
  },
})

/** `me` comes before `{id}`, which would match it. */
export const memberOperations = [listMembers, leaveProject, changeMember, removeMember, resetSecondFactor]
