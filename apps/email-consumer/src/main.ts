import { runApp } from '@waymark/service-kit'
import { createEmailConsumer } from './app.ts'
import { mailConfig, requireUsableMail } from './config.ts'
import { createDirectoryTransport } from './directory-transport.ts'
import { createSmtpTransport } from './smtp-transport.ts'

await runApp(
  'email-consumer',
  { port: 8088, config: { mail: mailConfig }, checkConfig: ({ mail }) => requireUsableMail(mail) },
  (platform, { mail }, scope) => {
    const transport = mail.directory
      ? createDirectoryTransport(mail.directory)
      : createSmtpTransport({ url: mail.smtpUrl, timeoutMs: mail.timeoutMs })
    scope.onStop('mail', () => transport.close())
    return createEmailConsumer(platform, { ...mail, transport })
  },
)
