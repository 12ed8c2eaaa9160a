import { parseMailbox } from '@waymark/domain'
import { type Config, ConfigError, variable } from '@waymark/service-kit'
import { Type } from 'typebox'

/** Where mail goes, from whom, and where its links lead. */
export const mailConfig = {
  smtpUrl: variable(
    'SMTP_URL',
    Type.String({
      default: '',
      pattern: '^(?:$|smtps?://)',
      description: 'The mail server, as `smtp://user:password@host:587`.',
    }),
  ),
  directory: variable(
    'MAIL_DIR',
    Type.String({ default: '', description: 'Write `.eml` files into this directory instead of sending.' }),
  ),
  from: variable(
    'MAIL_FROM',
    Type.String({
      minLength: 3,
      description: 'The sender unless a trigger names one: `Shop <hello@shop.example>`.',
    }),
  ),
  publicUrl: variable(
    'PUBLIC_URL',
    Type.String({
      pattern: '^https?://[^\\s<>"]+$',
      description: 'Where the links in emails lead: the address of this installation.',
    }),
  ),
  secrets: variable(
    'MAIL_SECRET',
    Type.Array(Type.String({ minLength: 32 }), {
      minItems: 1,
      description:
        'Signs unsubscribe links, 32 characters at least. Of several, separated by commas, the first signs and all count.',
    }),
  ),
  connections: variable(
    'SMTP_CONNECTIONS',
    Type.Integer({
      minimum: 1,
      maximum: 100,
      default: 5,
      description: 'Messages under way at once, per process.',
    }),
  ),
  timeoutMs: variable(
    'SMTP_TIMEOUT_MS',
    Type.Integer({
      minimum: 1_000,
      maximum: 600_000,
      default: 300_000,
      description: 'How long the mail server may be silent.',
    }),
  ),
  retryAfterMs: variable(
    'MAIL_RETRY_AFTER_MS',
    Type.Integer({
      minimum: 10,
      maximum: 3_600_000,
      default: 30_000,
      description: 'The pause before a second attempt; it doubles from one to the next.',
    }),
  ),
} as const
export type MailConfig = Config<typeof mailConfig>

/** @throws ConfigError when there is no way for mail to leave, or no sender */
export const requireUsableMail = ({ smtpUrl, directory, from }: MailConfig): void => {
  const problems = [
    ...(smtpUrl === '' && directory === '' ? ['SMTP_URL is required, unless MAIL_DIR is set'] : []),
    ...(parseMailbox(from) ? [] : ['MAIL_FROM must be an address, such as Shop <hello@shop.example>']),
  ]
  if (problems.length > 0) throw new ConfigError(problems)
}
