import { PATTERN_DESCRIPTION } from '@waymark/contracts/problem-message'
import { parseMailbox } from '@waymark/domain/email'
import {
  allowedSendersConfig,
  type Config,
  ConfigError,
  publicUrlConfig,
  variable,
} from '@waymark/service-kit'
import { Type } from 'typebox'

/** The variables of email. */
export const mailConfig = {
  smtpUrl: variable(
    'SMTP_URL',
    Type.String({
      default: '',
      pattern: '^(?:$|smtps?://)',
      [PATTERN_DESCRIPTION]: 'an smtp or smtps URL',
      description: 'Mail server: `smtp://user:password@host:587`.',
    }),
  ),
  directory: variable(
    'MAIL_DIR',
    Type.String({ default: '', description: 'Write `.eml` files to this directory instead of sending.' }),
  ),
  from: variable(
    'MAIL_FROM',
    Type.String({
      minLength: 3,
      description: 'Sender of triggers that name none: `Shop <hello@shop.example>`.',
    }),
  ),
  ...allowedSendersConfig,
  perHour: variable(
    'LIMIT_EMAILS_PER_HOUR',
    Type.Integer({
      minimum: 1,
      maximum: 10_000_000,
      default: 1_000,
      description: 'Emails of a project per hour, over all processes. Others wait for the next hour.',
    }),
  ),
  publicUrl: publicUrlConfig.url,
  secrets: variable(
    'MAIL_SECRET',
    Type.Array(Type.String({ minLength: 32 }), {
      minItems: 1,
      description:
        'Signs unsubscribe links; at least 32 characters. The first of several signs, all are accepted.',
    }),
  ),
  connections: variable(
    'SMTP_CONNECTIONS',
    Type.Integer({
      minimum: 1,
      maximum: 100,
      default: 5,
      description: 'Messages in transfer at once, per process.',
    }),
  ),
  timeoutMs: variable(
    'SMTP_TIMEOUT_MS',
    Type.Integer({
      minimum: 1_000,
      maximum: 600_000,
      default: 300_000,
      description: 'How long, in ms, the mail server may be silent.',
    }),
  ),
  retryAfterMs: variable(
    'MAIL_RETRY_AFTER_MS',
    Type.Integer({
      minimum: 10,
      maximum: 3_600_000,
      default: 30_000,
      description: 'Pause in ms before the second attempt. It doubles with each attempt.',
    }),
  ),
} as const
type MailConfig = Config<typeof mailConfig>

/** @throws ConfigError without a mail server or directory, or without a valid sender */
export const requireUsableMail = ({ smtpUrl, directory, from }: MailConfig): void => {
  const problems = [
    ...(smtpUrl === '' && directory === '' ? ['SMTP_URL is required, unless MAIL_DIR is set'] : []),
    ...(parseMailbox(from) ? [] : ['MAIL_FROM must be an address, such as Shop <hello@shop.example>']),
  ]
  if (problems.length > 0) throw new ConfigError(problems)
}
