import { PATTERN_DESCRIPTION } from '@waymark/contracts/problem-message'
import { Type } from 'typebox'
import { type Config, variable } from './config.ts'
import { databaseConfig, kafkaConfig, redisConfig } from './stores-config.ts'

/** More than a machine can handle, for deployments whose clients all have the same address. */
const MAX_PER_MINUTE = 100_000_000

const perMinute = (name: string, defaultLimit: number, what: string) =>
  variable(
    name,
    Type.Integer({
      minimum: 1,
      maximum: MAX_PER_MINUTE,
      default: defaultLimit,
      description: `${what} per minute, project and client address.`,
    }),
  )

const accountLimit = (name: string, defaultLimit: number, description: string) =>
  variable(name, Type.Integer({ minimum: 1, maximum: 1_000_000, default: defaultLimit, description }))

/** Default limits. The settings of a project override them. */
export const limitsConfig = {
  ingestPerMinute: perMinute(
    'LIMIT_INGEST_PER_MINUTE',
    3_000,
    'Requests to `/api/v1/t`, and separately to `/api/v1/identify`,',
  ),
  profilePerMinute: perMinute('LIMIT_PROFILE_PER_MINUTE', 60, 'Profile writes'),
  redeemPerMinute: perMinute('LIMIT_REDEEM_PER_MINUTE', 30, 'Coupon redemptions and holds'),
  couponMissesPerMinute: perMinute(
    'LIMIT_COUPON_MISSES_PER_MINUTE',
    30,
    'Look-ups of coupons that do not exist',
  ),
  decidePerMinute: perMinute(
    'LIMIT_DECIDE_PER_MINUTE',
    30,
    'Decisions, and separately OFREP evaluations, flags for SDKs of PostHog and reports of exposures,',
  ),
  registerPerHour: accountLimit('LIMIT_REGISTER_PER_HOUR', 10, 'Registrations per hour and client address.'),
  signInPerMinute: accountLimit('LIMIT_SIGN_IN_PER_MINUTE', 20, 'Sign-ins per minute and client address.'),
  signInFailures: accountLimit(
    'LIMIT_SIGN_IN_FAILURES',
    5,
    'Failed sign-ins per 15 minutes, account and client address.',
  ),
  accountMailsPerHour: accountLimit(
    'LIMIT_ACCOUNT_MAILS_PER_HOUR',
    20,
    'Requests per hour and client address for emails that reset a password.',
  ),
  sharedPerMinute: accountLimit(
    'LIMIT_SHARED_PER_MINUTE',
    300,
    'Requests to shared links per minute and client address. A link has ten times as many of all addresses.',
  ),
  auditOneIn: variable(
    'AUDIT_ONE_IN',
    Type.Integer({
      minimum: 0,
      maximum: 1_000_000,
      default: 100,
      description:
        'One of how many acknowledged events is looked up in the stores afterwards, to prove that none is lost or stored ' +
        'twice: `1` checks all, `0` none. Each checked event costs PostgreSQL a row for some seconds.',
    }),
  ),
} as const
export type Limits = Config<typeof limitsConfig>

/** Senders that every project may use, in addition to those that its tenant has verified. */
export const allowedSendersConfig = {
  allowedSenders: variable(
    'MAIL_ALLOWED_SENDERS',
    Type.Array(Type.String({ pattern: '^[^\\s@,]+(@[^\\s@,]+)?$' }), {
      default: [],
      description:
        'Addresses and domains that the triggers of every project may use as sender: ' +
        '`hello@shop.example,shop.example`. Tenants must verify any other. Triggers without a sender use `MAIL_FROM`, ' +
        'which this list does not include.',
    }),
  ),
} as const

/** The public address of the installation. */
export const publicUrlConfig = {
  url: variable(
    'PUBLIC_URL',
    Type.String({
      pattern: '^https?://[^\\s<>"]+$',
      [PATTERN_DESCRIPTION]: 'an http or https URL',
      description:
        'Public address of this installation, for links in emails and for the way back from OpenID Connect providers.',
    }),
  ),
} as const

/** The optional GeoIP database. */
export const geoConfig = {
  file: variable(
    'GEOIP_DATABASE',
    Type.String({
      default: '',
      description: 'MMDB file (GeoLite2 City or Country, DB-IP) for countries and cities. Empty: no lookup.',
    }),
  ),
} as const

/** The variables of the distributed platform. */
export const platformConfig = {
  database: databaseConfig,
  redis: redisConfig,
  kafka: kafkaConfig,
  limits: limitsConfig,
  geo: geoConfig,
} as const
export type PlatformConfig = Config<typeof platformConfig>

/**
 * The variables of a process that serves HTTP. Each app has its own default port, so that all can run on one machine. The
 * default port for metrics has the same distance from 9464 as the port from 8080.
 */
export const httpConfig = (defaultPort: number) => ({
  port: variable(
    'PORT',
    Type.Integer({
      minimum: 0,
      maximum: 65_535,
      default: defaultPort,
      description: 'Port for requests.',
    }),
  ),
  host: variable(
    'HOST',
    Type.String({
      default: '',
      description: 'Address to listen on, for requests and `/metrics`. Empty: all addresses.',
    }),
  ),
  metricsPort: variable(
    'METRICS_PORT',
    Type.Integer({
      minimum: 0,
      maximum: 65_535,
      default: 9464 + defaultPort - 8080,
      description: 'Port for `/metrics`.',
    }),
  ),
  trustedProxies: variable(
    'TRUSTED_PROXIES',
    Type.Integer({
      minimum: 0,
      maximum: 10,
      default: 0,
      description: 'Number of trusted proxies that set `X-Forwarded-*`.',
    }),
  ),
  drainMs: variable(
    'DRAIN_MS',
    Type.Integer({
      minimum: 0,
      maximum: 20_000,
      default: 0,
      description:
        'How long, in ms, a stopping process accepts requests. Set it to the time that proxies need to notice.',
    }),
  ),
})
export type HttpConfig = Config<ReturnType<typeof httpConfig>>
