import type { QueryClient } from '@tanstack/react-query'
import {
  createRootRouteWithContext,
  createRoute,
  createRouter,
  lazyRouteComponent,
  Outlet,
  parseSearchWith,
  redirect,
  stringifySearchWith,
} from '@tanstack/react-router'
import { AcceptInvitation } from './account/invitation.tsx'
import { ForgotPassword, ResetPassword, VerifyEmail } from './account/recover.tsx'
import { SignIn } from './account/sign-in.tsx'
import { SignUp } from './account/sign-up.tsx'
import { LinkFailed, ProofFailed, Proved, SignedIn } from './account/signed-in.tsx'
import { accountQuery, mayBeSignedIn } from './api/session.ts'
import { NotFound, PageError, PageLoading } from './shell/page-states.tsx'

const root = createRootRouteWithContext<{ client: QueryClient }>()({
  component: Outlet,
  // Every page parses its own parameters from text.
  validateSearch: (search): Record<string, string> => search as Record<string, string>,
})

/** The account, also after its session has ended: the page then asks to sign in again. */
const readAccount = async (client: QueryClient) =>
  client.getQueryData(accountQuery.queryKey) ??
  (mayBeSignedIn() ? client.fetchQuery(accountQuery).catch(() => undefined) : undefined)

const index = createRoute({
  getParentRoute: () => root,
  path: '/',
  component: lazyRouteComponent(() => import('./shell/no-project.tsx'), 'NoProject'),
  beforeLoad: async ({ context }) => {
    const account = await readAccount(context.client)
    if (!account) throw redirect({ to: '/sign-in' })
    const last = localStorage.getItem('project')
    const project = account.projects.find(({ id }) => id === last) ?? account.projects[0]
    if (project) throw redirect({ to: '/p/$projectId', params: { projectId: project.id } })
  },
})

const project = createRoute({
  getParentRoute: () => root,
  path: '/p/$projectId',
  component: lazyRouteComponent(() => import('./shell/shell.tsx'), 'Shell'),
  beforeLoad: async ({ context, params, location }) => {
    const account = await readAccount(context.client)
    if (!account) throw redirect({ to: '/sign-in', search: { next: location.href } as never })
    if (account.closedProjectIds.includes(params.projectId)) throw redirect({ to: '/second-factor' })
    localStorage.setItem('project', params.projectId)
  },
})

const signIn = createRoute({ getParentRoute: () => root, path: '/sign-in', component: SignIn })
const signUp = createRoute({ getParentRoute: () => root, path: '/sign-up', component: SignUp })
const signedIn = createRoute({ getParentRoute: () => root, path: '/signed-in', component: SignedIn })
const linkFailed = createRoute({ getParentRoute: () => root, path: '/link-failed', component: LinkFailed })
const proved = createRoute({ getParentRoute: () => root, path: '/proved', component: Proved })
const proofFailed = createRoute({ getParentRoute: () => root, path: '/proof-failed', component: ProofFailed })
const forgotPassword = createRoute({
  getParentRoute: () => root,
  path: '/forgot-password',
  component: ForgotPassword,
})
const resetPassword = createRoute({
  getParentRoute: () => root,
  path: '/reset-password',
  component: ResetPassword,
})
const secondFactor = createRoute({
  getParentRoute: () => root,
  path: '/second-factor',
  component: lazyRouteComponent(() => import('./account/required-second-factor.tsx'), 'RequiredSecondFactor'),
  beforeLoad: async ({ context }) => {
    if (!(await readAccount(context.client))) throw redirect({ to: '/sign-in' })
  },
})
const verifyEmail = createRoute({
  getParentRoute: () => root,
  path: '/verify-email',
  component: VerifyEmail,
})
const invitation = createRoute({
  getParentRoute: () => root,
  path: '/invitation',
  component: AcceptInvitation,
  beforeLoad: ({ context }) => readAccount(context.client),
})

const getParentRoute = () => project

const home = createRoute({
  getParentRoute,
  path: '/',
  component: lazyRouteComponent(() => import('./home/home.tsx'), 'Home'),
})
const live = createRoute({
  getParentRoute,
  path: '/live',
  component: lazyRouteComponent(() => import('./live/live.tsx'), 'Live'),
})
const web = createRoute({
  getParentRoute,
  path: '/web',
  component: lazyRouteComponent(() => import('./web/web.tsx'), 'Web'),
})
const explore = createRoute({
  getParentRoute,
  path: '/explore',
  beforeLoad: ({ params, search }) => {
    throw redirect({ to: '/p/$projectId/explore/trends', params, search: search as never, replace: true })
  },
})
const trends = createRoute({
  getParentRoute,
  path: '/explore/trends',
  component: lazyRouteComponent(() => import('./explore/trends.tsx'), 'TrendsPage'),
})
const funnel = createRoute({
  getParentRoute,
  path: '/explore/funnel',
  component: lazyRouteComponent(() => import('./explore/funnel.tsx'), 'FunnelPage'),
})
const retention = createRoute({
  getParentRoute,
  path: '/explore/retention',
  component: lazyRouteComponent(() => import('./explore/retention.tsx'), 'RetentionPage'),
})
const paths = createRoute({
  getParentRoute,
  path: '/explore/paths',
  component: lazyRouteComponent(() => import('./explore/paths.tsx'), 'PathsPage'),
})
const savedInsights = createRoute({
  getParentRoute,
  path: '/explore/saved',
  component: lazyRouteComponent(() => import('./explore/saved.tsx'), 'SavedPage'),
})
const dashboards = createRoute({
  getParentRoute,
  path: '/dashboards',
  component: lazyRouteComponent(() => import('./dashboards/dashboards.tsx'), 'Dashboards'),
})
const dashboard = createRoute({
  getParentRoute,
  path: '/dashboards/$id',
  component: lazyRouteComponent(() => import('./dashboards/dashboard.tsx'), 'DashboardPage'),
})
const subscriptions = createRoute({
  getParentRoute,
  path: '/dashboards/subscriptions',
  component: lazyRouteComponent(() => import('./subscriptions/subscriptions.tsx'), 'Subscriptions'),
})
const subscription = createRoute({
  getParentRoute,
  path: '/dashboards/subscriptions/$id',
  component: lazyRouteComponent(() => import('./subscriptions/subscription.tsx'), 'SubscriptionPage'),
})
const alerts = createRoute({
  getParentRoute,
  path: '/alerts',
  component: lazyRouteComponent(() => import('./alerts/alerts.tsx'), 'Alerts'),
})
const alert = createRoute({
  getParentRoute,
  path: '/alerts/$id',
  component: lazyRouteComponent(() => import('./alerts/alert.tsx'), 'AlertPage'),
})
const people = createRoute({
  getParentRoute,
  path: '/people',
  component: lazyRouteComponent(() => import('./people/people.tsx'), 'People'),
})
const person = createRoute({
  getParentRoute,
  path: '/people/$id',
  component: lazyRouteComponent(() => import('./people/person.tsx'), 'Person'),
})
const segments = createRoute({
  getParentRoute,
  path: '/people/segments',
  component: lazyRouteComponent(() => import('./segments/segments.tsx'), 'Segments'),
})
const segment = createRoute({
  getParentRoute,
  path: '/people/segments/$key',
  component: lazyRouteComponent(() => import('./segments/segment.tsx'), 'SegmentPage'),
})
const definitions = createRoute({
  getParentRoute,
  path: '/catalog',
  component: lazyRouteComponent(() => import('./catalog/definitions.tsx'), 'Definitions'),
})
const rejected = createRoute({
  getParentRoute,
  path: '/catalog/rejected',
  component: lazyRouteComponent(() => import('./catalog/rejected.tsx'), 'Rejected'),
})
const deadLetters = createRoute({
  getParentRoute,
  path: '/catalog/dead-letters',
  component: lazyRouteComponent(() => import('./catalog/dead-letters.tsx'), 'DeadLetters'),
})
const definition = createRoute({
  getParentRoute,
  path: '/catalog/$id',
  component: lazyRouteComponent(() => import('./catalog/definition.tsx'), 'Definition'),
})
const links = createRoute({
  getParentRoute,
  path: '/links',
  component: lazyRouteComponent(() => import('./links/links.tsx'), 'Links'),
})
const linkCampaigns = createRoute({
  getParentRoute,
  path: '/links/campaigns',
  component: lazyRouteComponent(() => import('./links/campaigns.tsx'), 'Campaigns'),
})
const linkDomains = createRoute({
  getParentRoute,
  path: '/links/domains',
  component: lazyRouteComponent(() => import('./links/domains.tsx'), 'LinkDomains'),
})
const linkDomain = createRoute({
  getParentRoute,
  path: '/links/domains/$id',
  component: lazyRouteComponent(() => import('./links/domain.tsx'), 'LinkDomainPage'),
})
const link = createRoute({
  getParentRoute,
  path: '/links/$id',
  component: lazyRouteComponent(() => import('./links/link.tsx'), 'LinkPage'),
})
const coupons = createRoute({
  getParentRoute,
  path: '/coupons',
  component: lazyRouteComponent(() => import('./coupons/coupons.tsx'), 'Coupons'),
})
const redemptions = createRoute({
  getParentRoute,
  path: '/coupons/redemptions',
  component: lazyRouteComponent(() => import('./coupons/coupons.tsx'), 'AllRedemptions'),
})
const programmes = createRoute({
  getParentRoute,
  path: '/coupons/loyalty',
  component: lazyRouteComponent(() => import('./loyalty/programmes.tsx'), 'Programmes'),
})
const programme = createRoute({
  getParentRoute,
  path: '/coupons/loyalty/$key',
  component: lazyRouteComponent(() => import('./loyalty/programme.tsx'), 'ProgrammePage'),
})
const pool = createRoute({
  getParentRoute,
  path: '/coupons/$id',
  component: lazyRouteComponent(() => import('./coupons/pool.tsx'), 'Pool'),
})
const decisions = createRoute({
  getParentRoute,
  path: '/decisions',
  component: lazyRouteComponent(() => import('./decisions/decisions.tsx'), 'Decisions'),
})
const newDecision = createRoute({
  getParentRoute,
  // No key of a decision begins with `_`.
  path: '/decisions/_new',
  component: lazyRouteComponent(() => import('./decisions/editor.tsx'), 'NewDecision'),
})
const proposals = createRoute({
  getParentRoute,
  path: '/decisions/_proposals',
  component: lazyRouteComponent(() => import('./decisions/proposals.tsx'), 'Proposals'),
})
const proposal = createRoute({
  getParentRoute,
  path: '/decisions/$key/proposals/$id',
  component: lazyRouteComponent(() => import('./decisions/proposal.tsx'), 'ProposalPage'),
})
const decision = createRoute({
  getParentRoute,
  path: '/decisions/$key',
  component: lazyRouteComponent(() => import('./decisions/decision.tsx'), 'DecisionPage'),
})
const triggers = createRoute({
  getParentRoute,
  path: '/email',
  component: lazyRouteComponent(() => import('./email/triggers.tsx'), 'Triggers'),
})
const deliveries = createRoute({
  getParentRoute,
  path: '/email/deliveries',
  component: lazyRouteComponent(() => import('./email/deliveries.tsx'), 'Deliveries'),
})
const suppressions = createRoute({
  getParentRoute,
  path: '/email/suppressions',
  component: lazyRouteComponent(() => import('./email/suppressions.tsx'), 'Suppressions'),
})
const senders = createRoute({
  getParentRoute,
  path: '/email/senders',
  component: lazyRouteComponent(() => import('./email/senders.tsx'), 'Senders'),
})
const trigger = createRoute({
  getParentRoute,
  path: '/email/$id',
  component: lazyRouteComponent(() => import('./email/trigger.tsx'), 'Trigger'),
})
const health = createRoute({
  getParentRoute,
  path: '/health',
  component: lazyRouteComponent(() => import('./health/health.tsx'), 'HealthPage'),
})
const settings = createRoute({
  getParentRoute,
  path: '/settings',
  component: lazyRouteComponent(() => import('./settings/project.tsx'), 'ProjectSettings'),
})
const conversions = createRoute({
  getParentRoute,
  path: '/settings/conversions',
  component: lazyRouteComponent(() => import('./settings/conversions.tsx'), 'Conversions'),
})
const webhooks = createRoute({
  getParentRoute,
  path: '/settings/webhooks',
  component: lazyRouteComponent(() => import('./webhooks/webhooks.tsx'), 'Webhooks'),
})
const webhook = createRoute({
  getParentRoute,
  path: '/settings/webhooks/$id',
  component: lazyRouteComponent(() => import('./webhooks/webhook.tsx'), 'WebhookPage'),
})
const keys = createRoute({
  getParentRoute,
  path: '/settings/keys',
  component: lazyRouteComponent(() => import('./settings/keys.tsx'), 'Keys'),
})
const members = createRoute({
  getParentRoute,
  path: '/settings/members',
  component: lazyRouteComponent(() => import('./settings/members.tsx'), 'Members'),
})
const audit = createRoute({
  getParentRoute,
  path: '/settings/audit',
  component: lazyRouteComponent(() => import('./settings/audit.tsx'), 'Audit'),
})
const singleSignOn = createRoute({
  getParentRoute,
  path: '/settings/single-sign-on',
  component: lazyRouteComponent(() => import('./settings/single-sign-on.tsx'), 'SingleSignOn'),
})
const accountSettings = createRoute({
  getParentRoute,
  path: '/settings/account',
  component: lazyRouteComponent(() => import('./settings/account.tsx'), 'AccountSettings'),
})

const pages = [
  home,
  live,
  health,
  web,
  explore,
  trends,
  funnel,
  retention,
  paths,
  savedInsights,
  dashboards,
  dashboard,
  subscriptions,
  subscription,
  alerts,
  alert,
  people,
  person,
  segments,
  segment,
  definitions,
  rejected,
  deadLetters,
  definition,
  links,
  linkCampaigns,
  linkDomains,
  linkDomain,
  link,
  coupons,
  programmes,
  programme,
  redemptions,
  pool,
  decisions,
  newDecision,
  proposals,
  proposal,
  decision,
  triggers,
  deliveries,
  suppressions,
  senders,
  trigger,
  settings,
  conversions,
  webhooks,
  webhook,
  keys,
  members,
  audit,
  singleSignOn,
  accountSettings,
]

const tree = root.addChildren([
  index,
  signIn,
  signUp,
  signedIn,
  linkFailed,
  proved,
  proofFailed,
  forgotPassword,
  resetPassword,
  secondFactor,
  verifyEmail,
  invitation,
  project.addChildren(pages),
])

/** The pages by their paths. */
export const createConsoleRouter = (client: QueryClient) =>
  createRouter({
    routeTree: tree,
    basepath: '/console',
    context: { client },
    defaultPreload: 'intent',
    scrollRestoration: true,
    defaultPendingComponent: PageLoading,
    defaultErrorComponent: PageError,
    defaultNotFoundComponent: NotFound,
    // Values stay strings, because an id may consist of digits.
    parseSearch: parseSearchWith((value) => value),
    stringifySearch: stringifySearchWith((value) => `${value}`),
  })
