const templates = { subject: 'Thank you', html: '<p>Thank you for {{event.properties.total}}</p>' }
const sample = { traits: { name: 'Ada' }, properties: { total: 4900 } }
const event = { eventName: 'page_view', visitorId: 'visitor-1', properties: { path: '/sale' } }
const order = {
  eventName: 'order_placed',
  userId: 'user-1',
  eventId: 'order-1001',
  clientTimestamp: '2026-01-15T10:00:00Z',
  properties: { total: 4900, currency: 'EUR' },
}
const segmentTrack = {
  event: 'Order Completed',
  anonymousId: 'visitor-1',
  messageId: 'message-1',
  properties: { total: 4900, currency: 'EUR' },
}
const decision = {
  variants: [
    { key: 'off', value: false },
    { key: 'on', value: true },
  ],
  fallbackVariant: 'off',
  rules: [{ condition: { '==': [{ var: 'traits.plan' }, 'pro'] }, rollout: 50, variant: 'on' }],
}
const condition = {
  match: 'all',
  filters: [{ property: 'traits.plan', op: 'eq', value: 'pro' }],
  counts: [{ eventName: 'order_placed', days: 30, op: 'gte', value: 3 }],
}
const evaluation = { context: { targetingKey: 'visitor-1', country: 'DE' } }
const email = 'ada@shop.example'
const password = 'a long passphrase that is hard to guess'
const id = '0198c1f4-7a50-7000-8000-000000000001'

const range = { from: '2026-01-01T00:00:00Z', to: '2026-01-31T00:00:00Z' }
const isPro = { property: 'traits.plan', op: 'eq', value: 'pro' }
const trends = {
  series: [
    { eventName: 'page_view', metric: 'people', filters: [isPro] },
    { eventName: 'order_placed', metric: 'sum', property: 'properties.total' },
  ],
  interval: 'day',
  timeZone: 'Europe/Berlin',
  breakdown: 'context.country',
  limit: 5,
}

/** An example body of each operation that takes one, by the operation's id. Ids in it stand for those of your project. */
export const requestExamples: Readonly<Record<string, unknown>> = {
  trackEvents: event,
  identify: { visitorId: 'visitor-1', userId: 'user-1', traits: { plan: 'pro' } },
  writeProfile: { userId: 'user-1', traits: { plan: 'pro' } },
  backfillEvents: { events: [order] },

  segmentBatch: { batch: [{ type: 'track', ...segmentTrack }] },
  segmentTrack,
  segmentIdentify: { userId: 'user-1', anonymousId: 'visitor-1', traits: { plan: 'pro' } },
  segmentPage: { name: 'Sale', anonymousId: 'visitor-1', properties: { path: '/sale' } },
  segmentScreen: { name: 'Sale', anonymousId: 'visitor-1' },
  segmentGroup: { groupId: 'acme', userId: 'user-1', traits: { plan: 'enterprise' } },
  segmentAlias: { previousId: 'visitor-1', userId: 'user-1' },
  postHogCapture: {
    api_key: 'wm_pub_…',
    batch: [{ event: 'order_placed', distinct_id: 'user-1', properties: { total: 4900 } }],
  },
  postHogFlags: { token: 'wm_pub_…', distinct_id: 'user-1' },
  postHogDecide: { token: 'wm_pub_…', distinct_id: 'user-1' },
  segmentImport: { batch: [{ type: 'track', ...segmentTrack, timestamp: '2020-01-15T10:00:00Z' }] },

  register: { email, password, name: 'Ada' },
  login: { email, password },
  startOidcSignIn: { providerId: id, next: `/p/${id}/home` },
  linkIdentity: { providerId: id, next: `/p/${id}/settings/account` },
  createOidcProvider: {
    name: 'Company',
    issuer: 'https://login.shop.example/realms/shop',
    clientId: 'waymark',
    clientSecret: 'a secret of the provider',
    roleMappings: [],
  },
  updateOidcProvider: { groupsClaim: 'roles' },
  endOidcSessions: 'logout_token=eyJhbGciOiJSUzI1NiJ9…',
  createTenantDomain: { domain: 'shop.example' },
  updateSignInPolicy: { oidcOnly: false },
  changePassword: { currentPassword: password, newPassword: 'another long passphrase of mine' },
  forgotPassword: { email },
  resetPassword: { token: 'the token of the link in the email', password },
  callMcp: { jsonrpc: '2.0', id: 1, method: 'tools/list' },
  createAccessToken: { name: 'Nightly report', projectIds: null, expiresAt: '2027-01-31T00:00:00Z' },
  completeLogin: { code: '287082' },
  reauthenticate: { password },
  confirmSecondFactor: { code: '287082' },
  verifyEmail: { token: 'the token of the link in the email', password },
  createProject: { name: 'Shop' },
  updateProject: { name: 'Shop' },
  changeMember: { role: 'editor' },
  createInvitation: { email: 'grace@shop.example', role: 'viewer' },
  acceptInvitation: { token: 'the token of the invitation', name: 'Grace', password },
  updateTenantProfile: { name: 'Shop Ltd' },

  redeemCoupon: { code: 'WELCOME10', userId: 'user-1', orderId: 'order-1001', amount: 4900, currency: 'EUR' },
  validateCoupons: {
    code: 'WELCOME10',
    userId: 'user-1',
    currency: 'EUR',
    items: [{ sku: 'shirt-m', category: 'clothes', quantity: 2, unitAmount: 1995 }],
    shippingAmount: 490,
  },
  qualifyPromotions: {
    codes: ['WELCOME10'],
    userId: 'user-1',
    currency: 'EUR',
    items: [{ sku: 'shirt-m', category: 'clothes', quantity: 2, unitAmount: 1995 }],
    shippingAmount: 490,
  },
  renewHold: { hold: 600 },
  previewCouponPool: {
    currency: 'EUR',
    items: [{ sku: 'shirt-m', category: 'clothes', quantity: 2, unitAmount: 1995 }],
  },
  createCouponPool: { name: 'Welcome', kind: 'unique', size: 100, discount: { type: 'percent', value: 10 } },
  updateCouponPool: { name: 'Welcome back' },
  topUpCouponPool: { count: 100 },
  assignCoupon: { userId: 'user-1' },
  importCoupons: 'code\nSPRING-0001\nSPRING-0002\n',
  updateCoupon: { status: 'revoked' },
  revokeCoupons: { poolId: id, status: 'available' },
  rollBackRedemption: { reason: 'The order was returned' },
  topUpGiftCard: { amount: 2500, key: 'top-up-1' },
  refundGiftCard: { orderId: 'order-1001', amount: 1000 },
  createLoyaltyProgramme: {
    key: 'club',
    name: 'Club',
    rules: [{ selectorId: id, points: 1, perAmount: 100, currency: 'EUR' }],
    expiryMonths: 24,
    spending: { points: 100, amount: 100, currency: 'EUR', minimum: 500 },
    tiers: [
      { key: 'basic', name: 'Basic', points: 0 },
      { key: 'gold', name: 'Gold', points: 5000 },
    ],
  },
  updateLoyaltyProgramme: { expiryMonths: 12 },
  adjustPoints: { userId: 'user-1', points: 500, key: 'welcome-user-1', reason: 'Welcome' },
  reverseOrderPoints: { orderId: 'order-1001' },
  transferGiftCard: { to: 'GIFT-7K3M-PQXA', key: 'transfer-1' },

  createApiKey: { name: 'Web shop', kind: 'pub', scopes: ['events:write', 'decide'] },
  updateApiKey: { name: 'Web shop' },
  rotateApiKey: { overlapSeconds: 3600 },
  createEventDefinition: {
    name: 'order_placed',
    description: 'An order was paid',
    schema: { type: 'object', properties: { total: { type: 'integer' } }, required: ['total'] },
  },
  updateEventDefinition: { description: 'An order was paid' },
  inferEventSchema: { eventName: 'page_view' },
  createMeteringSelector: {
    eventName: 'order_placed',
    amountProperty: 'total',
    currencyProperty: 'currency',
  },
  createLink: { destination: 'https://shop.example/sale', campaign: 'spring' },
  unlockLink: 'password=open+sesame',
  createLinks: { links: [{ destination: 'https://shop.example/sale' }] },
  updateLink: { campaign: 'autumn' },
  createLinkDomain: { host: 'go.shop.example', rootUrl: 'https://shop.example/' },
  updateLinkDomain: { notFoundUrl: 'https://shop.example/not-found' },
  updateSettings: { ingestValidation: { mode: 'warn' }, ipStorage: 'truncate' },

  measureTrends: { ...trends, ...range, compareTo: 'previous_period' },
  measureFunnel: {
    steps: [{ eventName: 'page_view' }, { eventName: 'order_placed', filters: [isPro] }],
    ...range,
    windowSeconds: 86_400,
  },
  measureRetention: {
    startEvent: 'page_view',
    returnEvent: 'page_view',
    ...range,
    interval: 'week',
    periods: 4,
    timeZone: 'Europe/Berlin',
  },
  measurePaths: { startEvent: 'page_view', ...range, depth: 4, limit: 50 },
  measureWeb: {
    ...range,
    timeZone: 'Europe/Berlin',
    filters: [{ property: 'visit.channel', op: 'eq', value: 'organic_search' }],
    compareTo: 'previous_period',
  },
  createInsight: { name: 'Visitors by country', kind: 'trends', query: trends },
  updateInsight: { name: 'Visitors by country' },
  createAlert: {
    name: 'Few visitors',
    measure: { web: { figure: 'visitors' } },
    condition: { type: 'unusual', direction: 'down' },
    interval: 'hour',
    timeZone: 'Europe/Berlin',
    emailRoles: ['owner'],
  },
  updateAlert: { condition: { type: 'below', value: 100 } },
  muteAlert: { until: '2100-01-01T00:00:00Z' },
  createSubscription: {
    name: 'Shop every Monday',
    dashboardId: '0198c1f4-7a50-7000-8000-000000000002',
    frequency: 'week',
    hour: 7,
    timeZone: 'Europe/Berlin',
    emailRoles: ['owner', 'admin'],
  },
  updateSubscription: { hour: 9 },
  createDashboard: { name: 'Shop', insightIds: [] },
  updateDashboard: { name: 'Shop' },

  decide: { visitorId: 'visitor-1', context: { country: 'DE' } },
  evaluateFlag: evaluation,
  evaluateFlags: evaluation,
  reportExposures: { exposures: [{ key: 'new-checkout', variant: 'on', visitorId: 'visitor-1' }] },
  createEnvironment: { key: 'preview', name: 'Previews of pull requests' },
  createDecision: { key: 'new-checkout', ...decision },
  replaceDecision: decision,
  updateDecision: { name: 'New checkout' },
  rollbackDecision: { version: 1 },
  resumeDecision: { reason: 'The payment provider was down, not the new checkout' },
  scheduleChange: { at: '2099-01-01T09:00:00Z', change: { status: 'active' } },
  replaceCodeReferences: {
    repository: 'shop',
    commit: '3f786850e387550fdab836ed7e6dc881de23001b',
    references: [{ decision: 'checkout-button', file: 'src/checkout.ts', line: 42 }],
  },
  createProposal: { change: { holdout: 5 }, comment: 'We want to measure all discounts together' },
  updateProposal: { change: { holdout: 10 } },
  approveProposal: { revision: 1, comment: 'Checked with the shop team' },
  rejectProposal: { revision: 1, comment: 'Wait until the sale is over' },
  bypassProposal: { revision: 1, reason: 'Orders fail, and nobody else is awake' },
  backtestEmailTrigger: { days: 7, cooldownSeconds: 86_400 },
  backtestCouponPool: { days: 7, eventName: 'order_placed' },
  backtestDecision: { days: 7, context: { country: 'DE' } },
  previewDecision: { visitorId: 'visitor-1', traits: { plan: 'pro' } },

  createSegment: { key: 'regulars', name: 'Regular customers', condition },
  updateSegment: { name: 'Regulars' },
  previewSegment: { condition },
  backtestSegment: { days: 7 },

  replayRejectedEvents: { eventName: 'order_placed' },
  replayDeadLetters: { from: '2026-01-15T00:00:00Z' },

  createEmailTrigger: { name: 'Thank you', eventName: 'order_placed', ...templates },
  updateEmailTrigger: { name: 'Thank you' },
  previewEmail: { ...templates, ...sample },
  previewEmailTrigger: sample,
  testEmailTrigger: { to: email, ...sample },
  createSuppression: { address: email },
  reportBounces: { bounces: [{ address: email, type: 'hard', reason: 'No such mailbox' }] },
  createEmailSender: { sender: 'hello@shop.example' },

  createAnnotation: { text: 'Deployed 1.4.0' },
  createShare: { kind: 'web', name: 'For the press', expiresAt: '2099-01-01T00:00:00Z' },
  updateShare: { frameHosts: ['wiki.example.com'] },
  unlockShared: { password: 'open sesame' },
  measureShared: range,
  measureSharedWeb: range,
  createWebhook: { url: 'https://shop.example/waymark', topics: ['event'], eventNames: ['order_placed'] },
  updateWebhook: { status: 'paused' },
  rotateWebhookSecret: { overlapSeconds: 3_600 },
  replayWebhook: { from: '2026-01-15T00:00:00Z', to: '2026-01-16T00:00:00Z', status: 'failed' },
}

/** Values of the query parameters that an operation requires, by the operation's id. */
export const queryExamples: Readonly<Record<string, Readonly<Record<string, string>>>> = {
  getStats: { metric: 'events' },
  findOidcProviders: { domain: 'shop.example' },
  listPropertyValues: { property: 'properties.plan' },
  listAnnotations: range,
}
