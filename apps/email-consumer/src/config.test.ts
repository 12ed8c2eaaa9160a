import { ConfigError, readConfig } from '@waymark/service-kit'
import { describe, expect, it } from 'vitest'
import { mailConfig, requireUsableMail } from './config.ts'

const ENOUGH = {
  SMTP_URL: 'smtp://user:pass@mail.example:587',
  MAIL_FROM: 'Shop <hello@shop.example>',
  PUBLIC_URL: 'https://events.shop.example',
  MAIL_SECRET: 'a secret of thirty-two characters',
}
const read = (env: Record<string, string>) => {
  const config = readConfig(mailConfig, env)
  requireUsableMail(config)
  return config
}

describe('the configuration of mail', () => {
  it('accepts a server or a directory, and several secrets', () => {
    expect(read(ENOUGH)).toMatchObject({ smtpUrl: ENOUGH.SMTP_URL, connections: 5, retryAfterMs: 30_000 })
    expect(read({ ...ENOUGH, SMTP_URL: '', MAIL_DIR: '/var/mail' }).directory).toBe('/var/mail')
    const two = `${ENOUGH.MAIL_SECRET}, another secret of thirty-two characters`
    expect(read({ ...ENOUGH, MAIL_SECRET: two }).secrets).toHaveLength(2)
  })

  it('refuses an incomplete configuration, naming the variable', () => {
    const wrong: [Record<string, string>, string][] = [
      [{ SMTP_URL: '' }, 'SMTP_URL'],
      [{ SMTP_URL: 'mail.example' }, 'SMTP_URL'],
      [{ MAIL_FROM: 'nobody' }, 'MAIL_FROM'],
      [{ PUBLIC_URL: 'events.shop.example' }, 'PUBLIC_URL'],
      [{ MAIL_SECRET: 'x'.repeat(31) }, 'MAIL_SECRET'],
    ]
    for (const [change, name] of wrong) {
      expect(() => read({ ...ENOUGH, ...change })).toThrow(ConfigError)
      expect(() => read({ ...ENOUGH, ...change })).toThrow(name)
    }
    expect(() => read({ ...ENOUGH, MAIL_SECRET: 'x'.repeat(32) })).not.toThrow()
  })
})
