import { randomUUID } from 'node:crypto'
import { createAccessToken, listAccessTokens, revokeAccessToken } from '@waymark/contracts/http/access-tokens'
import {
  changePassword,
  endOtherSessions,
  endSession,
  forgotPassword,
  getAccount,
  listSessions,
  login,
  logout,
  register,
  resetPassword,
  sendVerification,
  verifyEmail,
} from '@waymark/contracts/http/accounts'
import { listAuditLog } from '@waymark/contracts/http/audit-log'
import {
  acceptInvitation,
  createInvitation,
  listInvitations,
  revokeInvitation,
} from '@waymark/contracts/http/invitations'
import { callMcp } from '@waymark/contracts/http/mcp'
import {
  changeMember,
  leaveProject,
  listMembers,
  removeMember,
  resetSecondFactor,
} from '@waymark/contracts/http/members'
import {
  archiveProject,
  createProject,
  getDemoData,
  getProject,
  listProjects,
  removeDemoData,
  updateProject,
} from '@waymark/contracts/http/projects'
import {
  completeLogin,
  confirmSecondFactor,
  getSecondFactor,
  reauthenticate,
  removeSecondFactor,
  renewRecoveryCodes,
  startSecondFactor,
} from '@waymark/contracts/http/second-factor'
import { getTenantProfile, listUsers, updateTenantProfile } from '@waymark/contracts/http/tenants'
import { generate } from 'otplib'
import { asOwner, type Example, stringIn } from './example.ts'
import type { World } from './world.ts'

const PASSWORD = 'a horse, a battery and 4 staples'

const newEmail = () => `${randomUUID()}@example.com`

const registration = () => ({ email: newEmail(), password: PASSWORD, name: 'Ada' })

const invite = async ({ call }: World) => {
  const { body } = await call(createInvitation, { body: { email: newEmail(), role: 'viewer' } })
  return { id: stringIn(body, 'id'), token: stringIn(body, 'token') }
}

/** A member of the world's project, by the path. */
const aMember = async ({ signIn, projectId }: World) => ({ id: (await signIn({ projectId })).userId })

const inAnHour = () => new Date(Date.now() + 3_600_000).toISOString()

/** A request with an access token, which operations on sign-ins refuse. */
export const byAccessToken = async ({ signIn, accessToken }: World) => {
  const { userId } = await signIn()
  return { key: null, headers: await accessToken(userId) }
}

export const accountExamples: Example[] = [
  {
    operation: register,
    good: () => ({ key: null, body: registration() }),
    others: { 404: () => ({ key: null, body: { ...registration(), invitationToken: 'unknown' } }) },
  },
  {
    operation: login,
    good: async ({ signIn }) => {
      const { email, password } = await signIn()
      return { key: null, body: { email, password } }
    },
    others: {
      202: async (world) => {
        const { email, password, userId } = await world.signIn()
        await world.secondFactor(userId)
        return { key: null, body: { email, password } }
      },
      401: () => ({ key: null, body: { email: newEmail(), password: PASSWORD } }),
    },
  },
  { operation: logout, good: (world) => asOwner(world) },
  { operation: getDemoData, good: () => ({}) },
  { operation: removeDemoData, good: () => ({}) },
  { operation: getAccount, good: (world) => asOwner(world) },
  {
    operation: listSessions,
    good: (world) => asOwner(world),
    others: { 403: byAccessToken },
  },
  { operation: endOtherSessions, good: (world) => asOwner(world) },
  {
    operation: createAccessToken,
    good: (world) => asOwner(world, { body: { name: 'A script', projectIds: null, expiresAt: inAnHour() } }),
  },
  {
    operation: listAccessTokens,
    good: (world) => asOwner(world),
    others: { 403: byAccessToken },
  },
  {
    operation: revokeAccessToken,
    good: async (world) => {
      const call = await asOwner(world)
      const body = { name: 'A script', projectIds: null, expiresAt: inAnHour() }
      const created = await world.call(createAccessToken, { ...call, body })
      return { ...call, params: { id: stringIn(created.body, 'id') } }
    },
    others: { 404: (world) => asOwner(world) },
  },
  {
    operation: endSession,
    good: async ({ signIn }) => {
      const { headers, sessionId } = await signIn()
      return { key: null, headers, params: { id: sessionId } }
    },
    others: { 404: (world) => asOwner(world) },
  },
  {
    operation: changePassword,
    good: async ({ signIn }) => {
      const { headers, password } = await signIn()
      return { key: null, headers, body: { currentPassword: password, newPassword: PASSWORD } }
    },
  },

  {
    operation: completeLogin,
    good: async (world) => ({ key: null, ...(await world.challenge()) }),
    others: { 401: () => ({ key: null, body: { code: '123456' } }) },
  },
  {
    operation: reauthenticate,
    good: async ({ signIn }) => {
      const { headers, password } = await signIn()
      return { key: null, headers, body: { password } }
    },
    others: { 403: byAccessToken, 422: (world) => asOwner(world, { body: { code: '123456' } }) },
  },
  { operation: getSecondFactor, good: (world) => asOwner(world), others: { 403: byAccessToken } },
  { operation: startSecondFactor, good: (world) => asOwner(world) },
  {
    operation: confirmSecondFactor,
    good: async (world) => {
      const call = await asOwner(world)
      const { body } = await world.call(startSecondFactor, call)
      return { ...call, body: { code: await generate({ secret: stringIn(body, 'secret') }) } }
    },
    others: {
      429: async (world) => {
        const call = await asOwner(world)
        await world.call(startSecondFactor, call)
        return { ...call, body: { code: 'none' } }
      },
    },
  },
  {
    operation: renewRecoveryCodes,
    good: async (world) => {
      const user = await world.signIn()
      await world.secondFactor(user.userId)
      return { key: null, headers: user.headers }
    },
    others: { 422: (world) => asOwner(world) },
  },
  {
    operation: removeSecondFactor,
    good: (world) => asOwner(world),
    others: {
      422: async (world) => {
        const { headers, userId } = await world.signIn()
        await world.secondFactor(userId)
        const body = { requiresSecondFactor: true }
        await world.call(updateTenantProfile, { key: null, headers, body })
        return { key: null, headers }
      },
    },
  },
  {
    operation: resetSecondFactor,
    good: async (world) => {
      const call = await asOwner(world)
      const projectId = call.params?.projectId ?? ''
      return { ...call, params: { projectId, id: (await world.signIn({ projectId })).userId } }
    },
    others: {
      422: async (world) => {
        const { headers, projectId, userId } = await world.signIn()
        return { key: null, headers, params: { projectId, id: userId } }
      },
    },
  },
  { operation: forgotPassword, good: () => ({ key: null, body: { email: newEmail() } }) },
  {
    operation: resetPassword,
    good: async ({ signIn, emailedToken }) => {
      const token = await emailedToken('reset_password', await signIn())
      return { key: null, body: { token, password: PASSWORD } }
    },
  },
  { operation: sendVerification, good: (world) => asOwner(world) },
  {
    operation: verifyEmail,
    good: async ({ signIn, emailedToken }) => {
      const user = await signIn()
      const token = await emailedToken('verify_email', user)
      return { key: null, body: { token, password: user.password } }
    },
    others: {
      403: async ({ signIn, emailedToken }) => ({
        key: null,
        body: { token: await emailedToken('verify_email', await signIn()) },
      }),
    },
  },

  {
    operation: createProject,
    good: (world) => asOwner(world, { body: { name: 'Shop' } }),
    others: { 404: (world) => asOwner(world, { body: { name: 'Shop', tenantId: randomUUID() } }) },
  },
  { operation: listProjects, good: (world) => asOwner(world) },
  {
    operation: callMcp,
    good: async (world) => {
      const { userId } = await world.signIn()
      const body = { jsonrpc: '2.0', id: 1, method: 'ping' }
      return { key: null, headers: await world.accessToken(userId), body }
    },
    others: {
      202: async (world) => {
        const { userId } = await world.signIn()
        const body = { jsonrpc: '2.0', method: 'notifications/initialized' }
        return { key: null, headers: await world.accessToken(userId), body }
      },
      403: (world) => asOwner(world, { body: { jsonrpc: '2.0', id: 1, method: 'ping' } }),
      // The server of the protocol checks the message itself.
      422: async (world) => {
        const { userId } = await world.signIn()
        const body = { jsonrpc: '2.0', id: 1, method: 'ping' }
        return { key: null, headers: await world.accessToken(userId), query: { projectId: 'shop' }, body }
      },
    },
  },
  { operation: getProject, good: () => ({}) },
  { operation: updateProject, good: () => ({ body: { name: 'Shop' } }) },
  { operation: archiveProject, good: (world) => asOwner(world) },

  { operation: listMembers, good: () => ({}) },
  {
    operation: changeMember,
    good: async (world) => ({ params: await aMember(world), body: { role: 'editor' } }),
  },
  {
    operation: removeMember,
    good: async (world) => ({ params: await aMember(world) }),
    others: {
      422: async (world) => {
        const { headers, projectId, userId } = await world.signIn()
        return { key: null, headers, params: { projectId, id: userId } }
      },
    },
  },
  {
    operation: leaveProject,
    good: async ({ signIn, projectId }) => {
      const { headers } = await signIn({ projectId })
      return { key: null, headers, params: { projectId } }
    },
    others: {
      404: (world) => asOwner(world, { params: { projectId: world.foreignProjectId } }),
      422: (world) => asOwner(world),
    },
  },
  { operation: createInvitation, good: () => ({ body: { email: newEmail(), role: 'viewer' } }) },
  { operation: listInvitations, good: () => ({}) },
  { operation: revokeInvitation, good: async (world) => ({ params: { id: (await invite(world)).id } }) },
  {
    operation: acceptInvitation,
    good: async (world) => {
      const { token } = await invite(world)
      return { key: null, body: { token, name: 'Ada', password: PASSWORD } }
    },
    others: {
      401: async (world) => ({ key: null, body: { token: (await invite(world)).token } }),
      404: () => ({ key: null, body: { token: 'unknown', name: 'Ada', password: PASSWORD } }),
    },
  },

  {
    operation: getTenantProfile,
    good: () => ({}),
    others: {
      404: () => ({ query: { tenantId: randomUUID() } }),
      422: () => ({ query: { tenantId: 'unknown' } }),
    },
  },
  {
    operation: updateTenantProfile,
    good: (world) => asOwner(world, { body: { name: 'Navy' } }),
    others: { 404: (world) => asOwner(world, { query: { tenantId: randomUUID() }, body: { name: 'Navy' } }) },
  },
  {
    operation: listUsers,
    good: () => ({}),
    others: { 404: () => ({ query: { projectId: randomUUID() } }) },
  },
  { operation: listAuditLog, good: () => ({}) },
]
