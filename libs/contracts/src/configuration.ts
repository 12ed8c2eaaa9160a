import type { TSchema } from 'typebox'
import { createAlert, deleteAlert, getAlert, listAlerts, updateAlert } from './http/alerts.ts'
import {
  archiveCouponPool,
  createCouponPool,
  getCouponPool,
  listCouponPools,
  updateCouponPool,
} from './http/coupon-pools.ts'
import {
  archiveDecision,
  createDecision,
  getDecision,
  listDecisions,
  updateDecision,
} from './http/decisions.ts'
import {
  archiveEmailTrigger,
  createEmailTrigger,
  getEmailTrigger,
  listEmailTriggers,
  updateEmailTrigger,
} from './http/email-triggers.ts'
import { createEnvironment, deleteEnvironment, listEnvironments } from './http/environments.ts'
import {
  archiveEventDefinition,
  createEventDefinition,
  getEventDefinition,
  listEventDefinitions,
  updateEventDefinition,
} from './http/event-definitions.ts'
import {
  createDashboard,
  createInsight,
  deleteDashboard,
  deleteInsight,
  getDashboard,
  getInsight,
  listDashboards,
  listInsights,
  updateDashboard,
  updateInsight,
} from './http/insights.ts'
import {
  createLinkDomain,
  deleteLinkDomain,
  getLinkDomain,
  listLinkDomains,
  updateLinkDomain,
} from './http/link-domains.ts'
import {
  archiveLoyaltyProgramme,
  createLoyaltyProgramme,
  getLoyaltyProgramme,
  listLoyaltyProgrammes,
  updateLoyaltyProgramme,
} from './http/loyalty.ts'
import {
  archiveMeteringSelector,
  createMeteringSelector,
  getMeteringSelector,
  listMeteringSelectors,
} from './http/metering-selectors.ts'
import type { Operation } from './http/operation.ts'
import { createSegment, deleteSegment, getSegment, listSegments, updateSegment } from './http/segments.ts'
import { getSettings, updateSettings } from './http/settings.ts'
import {
  createSubscription,
  DEFAULT_SUBSCRIPTION_HOUR,
  deleteSubscription,
  getSubscription,
  listSubscriptions,
  updateSubscription,
} from './http/subscriptions.ts'
import { createWebhook, deleteWebhook, getWebhook, listWebhooks, updateWebhook } from './http/webhooks.ts'
import { ProjectSettings } from './project-settings.ts'

/** The kinds of resources that a project is configured by. Their folders have these names. */
export const configurationKinds = [
  'environments',
  'event-definitions',
  'metering-selectors',
  'segments',
  'coupon-pools',
  'loyalty-programmes',
  'link-domains',
  'email-triggers',
  'insights',
  'alerts',
  'dashboards',
  'subscriptions',
  'decisions',
  'webhooks',
  'settings',
] as const
export type ConfigurationKind = (typeof configurationKinds)[number]

/**
 * A kind of resource that a project is configured by. Its fields are those of the requests that create and change it, so
 * that a new one is part of the configuration without being named here.
 */
export type ConfigurationResource = {
  readonly kind: ConfigurationKind
  /** The field that tells resources of the kind apart. Without it, all fields do. */
  readonly identity?: string
  /** Reads all of them, as pages of `data` or as a member named like the kind. Reads the one that there is of `settings`. */
  readonly list: Operation
  readonly get?: Operation
  readonly create?: Operation
  readonly update?: Operation
  readonly remove?: Operation
  /** Fields of what is read that are no configuration: ids, times, states and counts. */
  readonly state: readonly string[]
  /** Fields that matter only when it is created, and that the API may change afterwards. */
  readonly initial?: readonly string[]
  /** Where it refers to others by their id, with the kind. `[]` stands for the items of a list. */
  readonly references?: Readonly<Record<string, ConfigurationKind>>
  /** What the API stores where a request has no value. `*` stands for any key. Undefined: it generates a value. */
  readonly defaults?: Readonly<Record<string, unknown>>
  /** Fields with a secret address, which is read as `maskedUrl` shows it. */
  readonly secrets?: readonly string[]
  /** Which of those that are read are left out, such as archived ones. */
  readonly isLeftOut?: (view: Readonly<Record<string, unknown>>) => boolean
}

const ids = ['id', 'createdAt', 'updatedAt'] as const
const ruleDefaults = (rules: string) => ({
  [`${rules}[].id`]: undefined,
  [`${rules}[].rollout`]: 100,
})

/** The configuration of a project, in an order in which each resource comes after those that it refers to. */
export const configurationResources: readonly ConfigurationResource[] = [
  {
    kind: 'environments',
    identity: 'key',
    list: listEnvironments,
    create: createEnvironment,
    remove: deleteEnvironment,
    state: ['builtIn', 'createdAt'],
    isLeftOut: ({ builtIn }) => builtIn === true,
  },
  {
    kind: 'event-definitions',
    identity: 'name',
    list: listEventDefinitions,
    get: getEventDefinition,
    create: createEventDefinition,
    update: updateEventDefinition,
    remove: archiveEventDefinition,
    state: [...ids, 'version', 'archivedAt'],
  },
  {
    kind: 'metering-selectors',
    list: listMeteringSelectors,
    get: getMeteringSelector,
    create: createMeteringSelector,
    remove: archiveMeteringSelector,
    state: ['id', 'createdAt'],
    defaults: { currencyProperty: 'currency' },
  },
  {
    kind: 'segments',
    identity: 'key',
    list: listSegments,
    get: getSegment,
    create: createSegment,
    update: updateSegment,
    remove: deleteSegment,
    state: [...ids, 'countsComplete'],
    defaults: { 'condition.match': 'all' },
  },
  {
    kind: 'coupon-pools',
    identity: 'name',
    list: listCouponPools,
    get: getCouponPool,
    create: createCouponPool,
    update: updateCouponPool,
    remove: archiveCouponPool,
    state: [
      ...ids,
      'status',
      'failure',
      'generated',
      'redeemed',
      'budgetUsedAmount',
      'held',
      'budgetHeldAmount',
      'archivedAt',
    ],
    initial: ['size', 'code', 'prefix', 'alphabet', 'length', 'amount', 'currency'],
    defaults: { priority: 0 },
    isLeftOut: ({ archivedAt }) => archivedAt !== null,
  },
  {
    kind: 'loyalty-programmes',
    identity: 'key',
    list: listLoyaltyProgrammes,
    get: getLoyaltyProgramme,
    create: createLoyaltyProgramme,
    update: updateLoyaltyProgramme,
    remove: archiveLoyaltyProgramme,
    state: [...ids, 'version'],
    references: { 'rules[].selectorId': 'metering-selectors' },
    defaults: { status: 'active', rules: [], tiers: [] },
    isLeftOut: ({ status }) => status === 'archived',
  },
  {
    kind: 'link-domains',
    identity: 'host',
    list: listLinkDomains,
    get: getLinkDomain,
    create: createLinkDomain,
    update: updateLinkDomain,
    remove: deleteLinkDomain,
    state: [...ids, 'verification', 'verifiedAt'],
  },
  {
    kind: 'email-triggers',
    identity: 'name',
    list: listEmailTriggers,
    get: getEmailTrigger,
    create: createEmailTrigger,
    update: updateEmailTrigger,
    remove: archiveEmailTrigger,
    state: [...ids, 'activatedAt', 'version'],
  },
  {
    kind: 'insights',
    identity: 'name',
    list: listInsights,
    get: getInsight,
    create: createInsight,
    update: updateInsight,
    remove: deleteInsight,
    state: [...ids, 'version'],
  },
  {
    kind: 'alerts',
    identity: 'name',
    list: listAlerts,
    get: getAlert,
    create: createAlert,
    update: updateAlert,
    remove: deleteAlert,
    state: [
      ...ids,
      'version',
      'state',
      'firingSince',
      'mutedUntil',
      'bucket',
      'value',
      'expected',
      'deviation',
      'problem',
    ],
    references: { 'measure.insightId': 'insights' },
    defaults: {
      timeZone: 'UTC',
      emailRoles: [],
      webhooks: true,
      'condition.direction': 'either',
    },
    secrets: ['slackUrl'],
  },
  {
    kind: 'dashboards',
    identity: 'name',
    list: listDashboards,
    get: getDashboard,
    create: createDashboard,
    update: updateDashboard,
    remove: deleteDashboard,
    state: [...ids, 'version'],
    references: { 'insightIds[]': 'insights' },
  },
  {
    kind: 'subscriptions',
    identity: 'name',
    list: listSubscriptions,
    get: getSubscription,
    create: createSubscription,
    update: updateSubscription,
    remove: deleteSubscription,
    state: [...ids, 'version', 'unsubscribedUserIds', 'nextAt', 'last', 'problem'],
    references: { dashboardId: 'dashboards' },
    defaults: { timeZone: 'UTC', hour: DEFAULT_SUBSCRIPTION_HOUR, emailRoles: [], userIds: [] },
  },
  {
    kind: 'decisions',
    identity: 'key',
    list: listDecisions,
    get: getDecision,
    create: createDecision,
    update: updateDecision,
    remove: archiveDecision,
    state: [...ids, 'version', 'warnings', 'stops', 'stale', 'local', 'notLocal'],
    references: {
      'variants[].couponPoolId': 'coupon-pools',
      'metrics[].selectorId': 'metering-selectors',
    },
    defaults: {
      salt: undefined,
      holdout: 0,
      metrics: [],
      ...ruleDefaults('rules'),
      ...ruleDefaults('environments.*.rules'),
      'environments.*.status': undefined,
      'metrics[].key': undefined,
      'metrics[].guardrail': false,
    },
    isLeftOut: ({ status }) => status === 'archived',
  },
  {
    kind: 'webhooks',
    identity: 'url',
    list: listWebhooks,
    get: getWebhook,
    create: createWebhook,
    update: updateWebhook,
    remove: deleteWebhook,
    state: [...ids, 'pausedReason', 'failingSince', 'previousSecretExpiresAt', 'version'],
  },
  { kind: 'settings', list: getSettings, get: getSettings, update: updateSettings, state: [] },
]

/**
 * Why an operation that changes a project is no part of the configuration: it is about data, an action, or access. A test
 * fails for an operation that is neither here nor part of a resource.
 */
export const notConfiguration: Readonly<Record<string, string>> = {
  updateProject: 'the name of the project, which differs between projects',
  archiveProject: 'the project itself',
  removeDemoData: 'an action',
  changeMember: 'access',
  removeMember: 'access',
  resetSecondFactor: 'access',
  createInvitation: 'access',
  revokeInvitation: 'access',
  eraseProfile: 'data',
  exportProfile: 'data',
  topUpCouponPool: 'data',
  assignCoupon: 'data',
  importCoupons: 'data',
  updateCoupon: 'data',
  revokeCoupons: 'data',
  rollBackRedemption: 'data',
  topUpGiftCard: 'data',
  refundGiftCard: 'data',
  transferGiftCard: 'data',
  adjustPoints: 'data',
  reverseOrderPoints: 'data',
  muteAlert: 'an action',
  unmuteAlert: 'an action',
  testSubscription: 'an action',
  resubscribe: 'an action',
  createAnnotation: 'data',
  deleteAnnotation: 'data',
  createShare: 'a secret',
  updateShare: 'a secret',
  revokeShare: 'access',
  createApiKey: 'a secret',
  updateApiKey: 'a secret',
  revokeApiKey: 'a secret',
  rotateApiKey: 'a secret',
  rotateIdentitySecret: 'a secret',
  rotateWebhookSecret: 'a secret',
  inferEventSchema: 'an action',
  createLink: 'data',
  createLinks: 'data',
  updateLink: 'data',
  archiveLink: 'data',
  verifyLinkDomain: 'an action',
  replaceDecision: 'another way to change a decision',
  activateDecision: 'another way to change a decision',
  pauseDecision: 'another way to change a decision',
  resumeDecision: 'answers to what a guard has measured, which is no configuration',
  restoreDecision: 'another way to change a decision',
  rollbackDecision: 'another way to change a decision',
  scheduleChange: 'a change at a later time',
  cancelScheduledChange: 'a change at a later time',
  replaceCodeReferences: 'data',
  createProposal: 'a change that waits for approvals',
  updateProposal: 'a change that waits for approvals',
  withdrawProposal: 'a change that waits for approvals',
  approveProposal: 'a change that waits for approvals',
  rejectProposal: 'a change that waits for approvals',
  bypassProposal: 'a change that waits for approvals',
  replayRejectedEvent: 'an action',
  replayRejectedEvents: 'an action',
  replayDeadLetter: 'an action',
  replayDeadLetters: 'an action',
  testEmailTrigger: 'an action',
  retryEmailDelivery: 'an action',
  createSuppression: 'data',
  deleteSuppression: 'data',
  createEmailSender: 'a proof of the address, for all projects of the tenant',
  deleteEmailSender: 'a proof of the address, for all projects of the tenant',
  testWebhook: 'an action',
  replayWebhook: 'an action',
  cancelWebhookReplay: 'an action',
  redeliverWebhookDelivery: 'an action',
}

/** Fields of requests that say which version is changed, and are no configuration. */
const CONDITIONS = ['version']

const propertiesOf = (schema: TSchema | undefined): Record<string, TSchema> =>
  (schema as { properties?: Record<string, TSchema> } | undefined)?.properties ?? {}

/** The fields of a resource with the schemas of their requests: those that create it and those that change it. */
export const configurationFields = ({ kind, create, update }: ConfigurationResource) => {
  // Null resets a setting, so the schema of a request is one of values or null.
  if (kind === 'settings') return propertiesOf(ProjectSettings)
  const fields = { ...propertiesOf(create?.body?.schema), ...propertiesOf(update?.body?.schema) }
  return Object.fromEntries(Object.entries(fields).filter(([name]) => !CONDITIONS.includes(name)))
}

/** The schema of one resource, as it is read. */
export const configurationView = ({ kind, list, get }: ConfigurationResource): Record<string, TSchema> => {
  const answer = get?.answers[200]?.schema
  if (answer) return propertiesOf(answer)
  const collection = propertiesOf(list.answers[200]?.schema)[kind] as { items?: TSchema } | undefined
  return propertiesOf(collection?.items)
}
