import { mailConfig } from '@waymark/email-consumer'
import { geoConfig, httpConfig, limitsConfig, variable } from '@waymark/service-kit'
import { Type } from 'typebox'

/** The variables of the process that runs everything. */
export const standaloneConfig = {
  dataDir: variable(
    'WAYMARK_DATA_DIR',
    Type.String({ default: '.waymark', description: 'Where all data is kept.' }),
  ),
  /** Set by npm to the script that it runs. */
  npmScript: variable('npm_lifecycle_event', Type.String({ default: '', description: 'Set by npm.' })),
  limits: limitsConfig,
  geo: geoConfig,
  mail: {
    // Unset, mail is written to files.
    smtpUrl: mailConfig.smtpUrl,
    from: variable('MAIL_FROM', { ...mailConfig.from.schema, default: 'Waymark <no-reply@localhost>' }),
    publicUrl: variable(
      'PUBLIC_URL',
      Type.String({
        default: '',
        pattern: '^(?:$|https?://[^\\s<>"]+$)',
        description: 'Where the links in emails lead, unless to this machine.',
      }),
    ),
    connections: mailConfig.connections,
    timeoutMs: mailConfig.timeoutMs,
    retryAfterMs: mailConfig.retryAfterMs,
  },
  shortLinkBaseUrl: variable(
    'SHORT_LINK_BASE_URL',
    Type.String({
      pattern: '^(https?://.*)?$',
      default: '',
      description: 'What short URLs begin with; this process on localhost unless set.',
    }),
  ),
  http: {
    ...httpConfig(8080),
    // Not 0: demo.json names the port before anything listens on it.
    port: variable(
      'PORT',
      Type.Integer({
        minimum: 1,
        maximum: 65_535,
        default: 8080,
        description: 'Where requests are answered.',
      }),
    ),
  },
} as const
