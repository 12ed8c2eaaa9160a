import path from 'node:path'
import { ensureEventPartitions, migrate, startEmbeddedPostgres } from '@waymark/database'
import { createDirectoryTransport, createSmtpTransport } from '@waymark/email-consumer'
import { embeddedPlatform, readConfig, runService, startService } from '@waymark/service-kit'
import { standaloneConfig } from './config.ts'
import { keepDemoFile } from './demo-file.ts'
import { greeting } from './greeting.ts'
import { keepMailSecret } from './mail-secret.ts'
import { createAllServices } from './services.ts'
import { stopWithParent } from './stop-with-parent.ts'

// Unless asked otherwise, the console is for people: it shows the greeting and what goes wrong.
const env = { ...process.env, LOG_LEVEL: process.env.LOG_LEVEL || 'warn' }

await runService('standalone', env, async (context) => {
  const config = readConfig(standaloneConfig, context.env)
  const dataDir = path.resolve(config.dataDir)
  if (config.npmScript) stopWithParent(context.scope)

  const postgres = await startEmbeddedPostgres({
    dataDir: path.join(dataDir, 'postgres'),
    log: (line) => context.log.info({ postgres: line }, 'the database says'),
  })
  let stopping = false
  context.scope.onStop('postgres', () => {
    stopping = true
    return postgres.stop()
  })
  void postgres.exited.then((exit) => {
    if (!stopping) context.fail(new Error(`the database ended by itself: ${JSON.stringify(exit)}`))
  })
  await migrate(postgres.url)

  const platform = await embeddedPlatform(
    { databaseUrl: postgres.url, limits: config.limits, geoFile: config.geo.file },
    context,
  )
  await ensureEventPartitions(platform.db.pool, { now: new Date() })
  const baseUrl = `http://localhost:${config.http.port}`
  const { smtpUrl: url, timeoutMs } = config.mail
  const transport = url
    ? createSmtpTransport({ url, timeoutMs })
    : createDirectoryTransport(path.join(dataDir, 'mail'))
  context.scope.onStop('mail', () => transport.close())
  const service = createAllServices(platform, {
    shortLinkBaseUrl: config.shortLinkBaseUrl || baseUrl,
    mail: {
      ...config.mail,
      transport,
      publicUrl: config.mail.publicUrl || baseUrl,
      secrets: [await keepMailSecret(path.join(dataDir, 'mail-secret'))],
    },
  })
  const demoFile = path.join(dataDir, 'demo.json')
  const demo = await keepDemoFile(demoFile, baseUrl, platform)
  await startService(service, config.http, platform, context.scope)
  process.stdout.write(greeting(demo, demoFile))
})
