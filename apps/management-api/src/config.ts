import { PATTERN_DESCRIPTION } from '@waymark/contracts/problem-message'
import { variable } from '@waymark/service-kit'
import { Type } from 'typebox'

export { allowedSendersConfig, publicUrlConfig } from '@waymark/service-kit'

const quota = (name: string, defaultQuota: number, description: string) =>
  variable(name, Type.Integer({ minimum: 1, maximum: 1_000_000_000_000, default: defaultQuota, description }))

/** Certificates of erasures. */
export const erasuresConfig = {
  secret: variable(
    'ERASURE_SECRET',
    Type.String({
      default: '',
      pattern: '^(?:|.{32,})$',
      [PATTERN_DESCRIPTION]: 'empty or at least 32 characters',
      description:
        'The key that signs certificates of erasures is derived from it; at least 32 characters. Without it there are none.',
    }),
  ),
  backupRetentionDays: variable(
    'BACKUP_RETENTION_DAYS',
    Type.Integer({
      minimum: 0,
      maximum: 36_500,
      default: 0,
      description:
        'How long backups are kept, as certificates of erasures say. 0: they say nothing about backups.',
    }),
  ),
} as const

/** Sign-in with OpenID Connect providers. */
export const oidcConfig = {
  allowPrivateAddresses: variable(
    'OIDC_ALLOW_PRIVATE_ADDRESSES',
    Type.Boolean({
      default: false,
      description:
        'Whether OpenID Connect providers may have private, loopback and link-local addresses, and addresses without ' +
        'TLS. For a provider in the own network: with it every tenant reaches that network.',
    }),
  ),
} as const

/** Quotas of a project or tenant. */
export const quotasConfig = {
  projects: quota('QUOTA_PROJECTS', 200, 'Projects of a tenant, including archived ones.'),
  members: quota('QUOTA_MEMBERS', 2_000, 'Members of a project and pending invitations.'),
  apiKeys: quota('QUOTA_API_KEYS', 1_000, 'API keys of a project that are neither revoked nor expired.'),
  eventDefinitions: quota('QUOTA_EVENT_DEFINITIONS', 5_000, 'Event definitions of a project in use.'),
  meteringSelectors: quota('QUOTA_METERING_SELECTORS', 1_000, 'Metering selectors of a project in use.'),
  decisions: quota('QUOTA_DECISIONS', 5_000, 'Decisions of a project, including archived ones.'),
  segments: quota('QUOTA_SEGMENTS', 1_000, 'Segments of a project.'),
  configurationBytes: quota(
    'QUOTA_CONFIGURATION_BYTES',
    4 * 1024 * 1024,
    'Bytes of JSON in the schemas, filters, decisions and segments of a project. Every change of them is read as a whole: 4 MiB ' +
      'keep a process busy for about 0.1 s.',
  ),
  emailSenders: quota('QUOTA_EMAIL_SENDERS', 100, 'Email senders of a tenant, verified or not.'),
  emailTriggers: quota('QUOTA_EMAIL_TRIGGERS', 1_000, 'Email triggers of a project, without archived ones.'),
  insights: quota('QUOTA_INSIGHTS', 2_000, 'Insights of a project.'),
  dashboards: quota('QUOTA_DASHBOARDS', 500, 'Dashboards of a project.'),
  alerts: quota(
    'QUOTA_ALERTS',
    100,
    'Alerts of a project. Each is a query an hour or a day, which takes its turn with those of other projects.',
  ),
  subscriptions: quota(
    'QUOTA_SUBSCRIPTIONS',
    50,
    'Subscriptions of a project. Each is some queries for each insight of its dashboard, once a day, week or month.',
  ),
  annotations: quota('QUOTA_ANNOTATIONS', 10_000, 'Annotations of a project.'),
  shares: quota('QUOTA_SHARES', 200, 'Shared links of a project, including expired ones.'),
  couponPools: quota('QUOTA_COUPON_POOLS', 10_000, 'Coupon pools of a project, including archived ones.'),
  couponCodes: quota(
    'QUOTA_COUPON_CODES',
    20_000_000,
    'Coupon codes in all pools of a project, including archived ones.',
  ),
  promotions: quota(
    'QUOTA_PROMOTIONS',
    200,
    'Automatic promotions of a project, without archived ones. Each request to qualify a cart reads all of them.',
  ),
  loyaltyProgrammes: quota(
    'QUOTA_LOYALTY_PROGRAMMES',
    50,
    'Loyalty programmes of a project, including archived ones. Each conversion is compared with the rules of all of them.',
  ),
  links: quota('QUOTA_LINKS', 10_000_000, 'Short links of a project, including archived ones.'),
  webhooks: quota('QUOTA_WEBHOOKS', 50, 'Webhooks of a project.'),
} as const

/** Who may create an account: anyone, people with an invitation, or no one. */
export const registrationModes = ['open', 'invite', 'closed'] as const
export type RegistrationMode = (typeof registrationModes)[number]

export const registrationConfig = {
  mode: variable(
    'REGISTRATION_MODE',
    Type.Unsafe<RegistrationMode>(
      Type.Union(
        registrationModes.map((mode) => Type.Literal(mode)),
        {
          default: 'invite',
          description:
            'Who may create an account: `open` anyone, `invite` people with an invitation, `closed` no one. ' +
            '`npm run setup -- account` creates one in any mode.',
        },
      ),
    ),
  ),
} as const

/** The public address of short links. */
export const shortLinkConfig = {
  baseUrl: variable(
    'SHORT_LINK_BASE_URL',
    Type.String({
      format: 'uri',
      pattern: '^https?://',
      default: 'http://localhost:8085',
      description: 'Public address of link-redirector, with which short URLs begin.',
    }),
  ),
} as const
