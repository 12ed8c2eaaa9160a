import { type ApiKeyScope, apiKeyScopes } from '@waymark/contracts/api-key'
import { type ProjectRole, projectRoles } from '@waymark/contracts/project-role'

/**
 * The permissions of all operations, written by hand, so that an accidental change of `access` fails. `anyone` needs
 * nothing, `session` any session or access token, `signed in` a session and no access token, `session or <scope>` a session
 * or a key; a role means a member of the project with at least that role, or a key with the corresponding scope. `no token`
 * refuses access tokens, `no token or key` also keys.
 */
export const permissions: Readonly<Record<string, Expectation>> = {
  register: 'anyone',
  login: 'anyone',
  acceptInvitation: 'anyone',
  logout: 'signed in',
  getAccount: 'session',
  listSessions: 'signed in',
  endSession: 'signed in',
  endOtherSessions: 'signed in',
  changePassword: 'signed in',
  createAccessToken: 'signed in',
  listAccessTokens: 'signed in',
  revokeAccessToken: 'signed in',
  completeLogin: 'anyone',
  reauthenticate: 'signed in',
  getSecondFactor: 'signed in',
  startSecondFactor: 'signed in',
  confirmSecondFactor: 'signed in',
  renewRecoveryCodes: 'signed in',
  removeSecondFactor: 'signed in',
  resetSecondFactor: 'owner, no token',
  forgotPassword: 'anyone',
  resetPassword: 'anyone',
  sendVerification: 'signed in',
  verifyEmail: 'anyone',

  findOidcProviders: 'anyone',
  startOidcSignIn: 'anyone',
  finishOidcSignIn: 'anyone',
  reauthenticateWithProvider: 'signed in',
  endOidcSessions: 'anyone',
  listIdentities: 'signed in',
  linkIdentity: 'signed in',
  unlinkIdentity: 'signed in',
  createOidcProvider: 'signed in',
  listOidcProviders: 'signed in',
  updateOidcProvider: 'signed in',
  deleteOidcProvider: 'signed in',
  createTenantDomain: 'signed in',
  listTenantDomains: 'signed in',
  verifyTenantDomain: 'signed in',
  deleteTenantDomain: 'signed in',
  getSignInPolicy: 'signed in',
  updateSignInPolicy: 'signed in',

  callMcp: 'session',
  createProject: 'session',
  listProjects: 'session',
  getProject: 'viewer',
  updateProject: 'admin',
  archiveProject: 'owner, no token',
  getDemoData: 'viewer',
  removeDemoData: 'admin',
  listMembers: 'admin',
  changeMember: 'admin, no token',
  removeMember: 'admin',
  leaveProject: 'session',
  createInvitation: 'admin, no token',
  listInvitations: 'admin',
  revokeInvitation: 'admin',
  getTenantProfile: 'session or tenant:read',
  updateTenantProfile: 'session',
  listUsers: 'session or manage:admin',
  listAuditLog: 'admin',

  listEvents: 'viewer',
  exportEvents: 'viewer',
  streamEvents: 'viewer',
  listProfiles: 'viewer',
  getProfile: 'viewer',
  getProfileTimeline: 'viewer',
  exportProfile: 'admin',
  eraseProfile: 'admin, no token',
  listErasures: 'admin',
  getErasureCertificate: 'admin',
  getErasureKey: 'viewer',
  getStats: 'viewer',
  getPipelineStats: 'viewer',
  getDeliveryStats: 'viewer',
  measureTrends: 'viewer',
  measureFunnel: 'viewer',
  measureRetention: 'viewer',
  measurePaths: 'viewer',
  measureWeb: 'viewer',
  listProperties: 'viewer',
  listPropertyValues: 'viewer',
  createInsight: 'editor',
  listInsights: 'viewer',
  getInsight: 'viewer',
  updateInsight: 'editor',
  deleteInsight: 'editor',
  createDashboard: 'editor',
  listDashboards: 'viewer',
  getDashboard: 'viewer',
  updateDashboard: 'editor',
  deleteDashboard: 'editor',
  createAnnotation: 'editor',
  listAnnotations: 'viewer',
  deleteAnnotation: 'editor',
  createShare: 'admin',
  listShares: 'editor',
  getShare: 'editor',
  updateShare: 'admin',
  revokeShare: 'admin',
  getShared: 'anyone',
  unlockShared: 'anyone',
  measureShared: 'anyone',
  measureSharedWeb: 'anyone',
  listConversions: 'viewer',
  createApiKey: 'admin, no token',
  listApiKeys: 'admin',
  getApiKey: 'admin',
  updateApiKey: 'admin, no token',
  rotateApiKey: 'admin, no token',
  revokeApiKey: 'admin',
  createEventDefinition: 'editor',
  listEventDefinitions: 'viewer',
  getEventDefinition: 'viewer',
  updateEventDefinition: 'editor',
  archiveEventDefinition: 'editor',
  listEventDefinitionVersions: 'viewer',
  inferEventSchema: 'viewer',
  createMeteringSelector: 'editor',
  listMeteringSelectors: 'viewer',
  getMeteringSelector: 'viewer',
  archiveMeteringSelector: 'editor',
  getSettings: 'viewer',
  updateSettings: 'admin',
  getIdentitySecret: 'admin, no token',
  rotateIdentitySecret: 'admin, no token',
  listRejectedEvents: 'viewer',
  getRejectedEvent: 'viewer',
  replayRejectedEvent: 'editor',
  replayRejectedEvents: 'editor',
  listDeadLetters: 'viewer',
  replayDeadLetter: 'editor',
  replayDeadLetters: 'editor',

  createEmailTrigger: 'editor',
  listEmailTriggers: 'viewer',
  getEmailTrigger: 'viewer',
  updateEmailTrigger: 'editor',
  archiveEmailTrigger: 'editor',
  previewEmail: 'viewer',
  previewEmailTrigger: 'viewer',
  testEmailTrigger: 'editor',
  getEmailTriggerStats: 'viewer',
  listEmailDeliveries: 'viewer',
  retryEmailDelivery: 'editor',
  createEmailSender: 'admin',
  listEmailSenders: 'admin',
  deleteEmailSender: 'admin',
  listSuppressions: 'viewer',
  createSuppression: 'editor',
  deleteSuppression: 'editor',

  createWebhook: 'admin',
  listWebhooks: 'editor',
  getWebhook: 'editor',
  updateWebhook: 'admin',
  deleteWebhook: 'admin',
  rotateWebhookSecret: 'admin, no token',
  testWebhook: 'editor',
  replayWebhook: 'editor',
  getWebhookReplay: 'editor',
  cancelWebhookReplay: 'editor',
  listWebhookDeliveries: 'editor',
  redeliverWebhookDelivery: 'editor',

  createCouponPool: 'editor',
  listCouponPools: 'viewer',
  getCouponPool: 'viewer',
  updateCouponPool: 'editor',
  previewCouponPool: 'viewer',
  archiveCouponPool: 'editor',
  topUpCouponPool: 'editor',
  assignCoupon: 'editor',
  importCoupons: 'editor',
  exportCoupons: 'viewer',
  listCoupons: 'viewer',
  getCoupon: 'viewer',
  updateCoupon: 'editor',
  revokeCoupons: 'editor',
  listRedemptions: 'viewer',
  rollBackRedemption: 'editor',

  createLink: 'editor',
  createLinks: 'editor',
  listLinks: 'viewer',
  getLink: 'viewer',
  updateLink: 'editor',
  archiveLink: 'editor',
  getLinkQrCode: 'viewer',
  getLinkStats: 'viewer',
  getLinkCampaignStats: 'viewer',
  createLinkDomain: 'admin',
  listLinkDomains: 'viewer',
  getLinkDomain: 'viewer',
  updateLinkDomain: 'admin',
  verifyLinkDomain: 'admin',
  deleteLinkDomain: 'admin',

  listEnvironments: 'viewer',
  createEnvironment: 'admin',
  deleteEnvironment: 'admin',
  createDecision: 'editor',
  listDecisions: 'viewer',
  getDecision: 'viewer',
  replaceDecision: 'editor',
  updateDecision: 'editor',
  activateDecision: 'editor',
  pauseDecision: 'editor',
  resumeDecision: 'editor',
  archiveDecision: 'editor',
  getDecisionHistory: 'viewer',
  getDecisionVersion: 'viewer',
  restoreDecision: 'editor',
  rollbackDecision: 'editor',
  scheduleChange: 'editor',
  listScheduledChanges: 'viewer',
  cancelScheduledChange: 'editor',
  createProposal: 'editor',
  listProposals: 'viewer',
  getProposal: 'viewer',
  updateProposal: 'editor',
  withdrawProposal: 'editor',
  approveProposal: 'editor, no token or key',
  rejectProposal: 'editor, no token or key',
  bypassProposal: 'admin, no token or key',
  replaceCodeReferences: 'editor',
  listCodeReferences: 'viewer',
  previewDecision: 'viewer',
  getDecisionStats: 'viewer',
  getDecisionResults: 'viewer',
  createSegment: 'editor',
  listSegments: 'viewer',
  getSegment: 'viewer',
  updateSegment: 'editor',
  deleteSegment: 'editor',
  previewSegment: 'viewer',

  getOpenApi: 'anyone',
  getDocs: 'anyone',
  getDocsFile: 'anyone',
  getIndex: 'anyone',
}

type Expectation =
  | 'anyone'
  | 'session'
  | 'signed in'
  | `session or ${ApiKeyScope}`
  | ProjectRole
  | `${ProjectRole}, no token`
  | `${ProjectRole}, no token or key`

/** The callers. */
export const callers = [
  'no credentials',
  'foreign user',
  'foreign key',
  'access token',
  'token of another project',
  ...projectRoles,
  ...apiKeyScopes.map((scope) => `key ${scope}` as const),
] as const
export type CallerName = (typeof callers)[number]

/** The keys that correspond to a role, and those that correspond to weaker ones. */
const actingAs: Partial<Record<CallerName, ProjectRole>> = {
  'key manage:read': 'viewer',
  'key manage:write': 'editor',
  'key manage:admin': 'admin',
}

/** 200 means allowed, with any status. */
export const expectedStatus = (expectation: Expectation, caller: CallerName): 200 | 401 | 403 | 404 => {
  if (expectation === 'anyone') return 200
  if (caller === 'no credentials') return 401
  const key = caller.startsWith('key ') || caller === 'foreign key'
  const token = caller === 'access token' || caller === 'token of another project'
  if (expectation === 'session') return key ? 401 : 200
  if (expectation === 'signed in') return key ? 401 : token ? 403 : 200
  if (expectation.startsWith('session or ')) {
    if (!key || caller === 'foreign key') return 200
    const scope = expectation.slice('session or '.length)
    return caller === `key ${scope}` ? 200 : 403
  }
  const ranks: readonly string[] = projectRoles
  const [needed = '', noToken] = expectation.split(', ')
  if (caller === 'foreign user' || caller === 'token of another project') return 404
  if (caller === 'access token') return noToken ? 403 : 200
  const noKey = needed === 'owner' || noToken === 'no token or key'
  if (caller === 'foreign key') return noKey ? 403 : 404
  if (key && noKey) return 403
  const role = key ? actingAs[caller] : caller
  return role !== undefined && ranks.indexOf(role) >= ranks.indexOf(needed) ? 200 : 403
}
