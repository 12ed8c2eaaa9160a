import {
  distributedPlatform,
  httpConfig,
  platformConfig,
  readConfig,
  runService,
  startService,
} from '@waymark/service-kit'
import { createEmailConsumer } from './app.ts'
import { mailConfig, requireUsableMail } from './config.ts'
import { createDirectoryTransport } from './directory-transport.ts'
import { createSmtpTransport } from './smtp-transport.ts'

await runService('email-consumer', process.env, async (context) => {
  const config = readConfig(
    { platform: platformConfig, http: httpConfig(8088), mail: mailConfig },
    context.env,
  )
  const { mail } = config
  requireUsableMail(mail)
  const transport = mail.directory
    ? createDirectoryTransport(mail.directory)
    : createSmtpTransport({ url: mail.smtpUrl, timeoutMs: mail.timeoutMs })
  context.scope.onStop('mail', () => transport.close())
  const platform = await distributedPlatform(config.platform, context)
  const service = createEmailConsumer(platform, { ...mail, transport })
  await startService(service, config.http, platform, context.scope)
})
