import { PATTERN_DESCRIPTION } from '@waymark/contracts/problem-message'
import { flagStreamConfig } from '@waymark/decision-service'
import { mailConfig } from '@waymark/email-consumer'
import {
  erasuresConfig,
  oidcConfig,
  quotasConfig,
  type RegistrationMode,
  registrationModes,
} from '@waymark/management-api'
import {
  archiveConfig,
  duckdbConfig,
  geoConfig,
  httpConfig,
  limitsConfig,
  variable,
} from '@waymark/service-kit'
import { webhookConfig } from '@waymark/webhook-dispatcher'
import { Type } from 'typebox'

/** The variables of the process that runs everything. */
export const standaloneConfig = {
  dataDir: variable('WAYMARK_DATA_DIR', Type.String({ default: '.waymark', description: 'Data directory.' })),
  demoData: variable(
    'WAYMARK_DEMO_DATA',
    Type.Enum(['on', 'off'], {
      default: 'on',
      description:
        'Whether the first start adds examples to the demo project: events, people, links and more.',
    }),
  ),
  /** npm sets it to the name of the script that it runs. */
  npmScript: variable('npm_lifecycle_event', Type.String({ default: '', description: 'Set by npm.' })),
  eventStore: duckdbConfig,
  limits: limitsConfig,
  quotas: quotasConfig,
  oidc: oidcConfig,
  backupRetentionDays: erasuresConfig.backupRetentionDays,
  registrationMode: variable(
    'REGISTRATION_MODE',
    Type.Unsafe<RegistrationMode | ''>(
      Type.Union(
        ['', ...registrationModes].map((mode) => Type.Literal(mode)),
        {
          default: '',
          description:
            'Who may create an account: `open` anyone, `invite` people with an invitation, `closed` no one. ' +
            'Empty: `open` if `HOST` is a loopback address, otherwise `invite`.',
        },
      ),
    ),
  ),
  geo: geoConfig,
  mail: {
    // When unset, emails are written to files.
    smtpUrl: mailConfig.smtpUrl,
    from: variable('MAIL_FROM', { ...mailConfig.from.schema, default: 'Waymark <no-reply@localhost>' }),
    publicUrl: variable(
      'PUBLIC_URL',
      Type.String({
        default: '',
        pattern: '^(?:$|https?://[^\\s<>"]+$)',
        [PATTERN_DESCRIPTION]: 'an http or https URL',
        description:
          'Public address of this installation, for links in emails and for the way back from OpenID Connect providers. ' +
          'Empty: this process on localhost.',
      }),
    ),
    allowedSenders: mailConfig.allowedSenders,
    perHour: mailConfig.perHour,
    connections: mailConfig.connections,
    timeoutMs: mailConfig.timeoutMs,
    retryAfterMs: mailConfig.retryAfterMs,
  },
  webhooks: webhookConfig,
  flagStreams: flagStreamConfig,
  shortLinkBaseUrl: variable(
    'SHORT_LINK_BASE_URL',
    Type.String({
      pattern: '^(https?://.*)?$',
      [PATTERN_DESCRIPTION]: 'an http or https URL',
      default: '',
      description: 'Public address with which short URLs begin. Empty: this process on localhost.',
    }),
  ),
  archive: archiveConfig,
  http: {
    ...httpConfig(8080),
    host: variable(
      'HOST',
      Type.String({
        default: '127.0.0.1',
        description: 'Address to listen on, for requests and `/metrics`. `0.0.0.0` listens on all addresses.',
      }),
    ),
    // Not 0, because demo.json contains the port before the server listens.
    port: variable(
      'PORT',
      Type.Integer({
        minimum: 1,
        maximum: 65_535,
        default: 8080,
        description: 'Port for requests.',
      }),
    ),
  },
} as const
