// First, because the size of the pool cannot change once it has work.
import './thread-pool.ts'

import path from 'node:path'
import { migrate, startEmbeddedPostgres } from '@waymark/database'
import { createDirectoryTransport, createSmtpTransport } from '@waymark/email-consumer'
import { embeddedPlatform, openArchive, readConfig, runService, startService } from '@waymark/service-kit'
import { APPS, createAllServices } from './app.ts'
import { standaloneConfig } from './config.ts'
import { createDataDir } from './data-dir.ts'
import { addDemoDataInBackground } from './demo-data/add-demo-data.ts'
import { keepDemoFile } from './demo-file.ts'
import { greeting } from './greeting.ts'
import { keepSecret } from './keep-secret.ts'
import { registrationModeOf } from './registration.ts'
import { stopWithParent } from './stop-with-parent.ts'

// By default the console shows only the greeting and problems.
const env = { ...process.env, LOG_LEVEL: process.env.LOG_LEVEL || 'warn' }

await runService('standalone', env, async (context) => {
  const config = readConfig(standaloneConfig, context.env)
  const dataDir = path.resolve(config.dataDir)
  if (config.npmScript) stopWithParent(context.scope)
  await createDataDir(dataDir)

  const postgres = await startEmbeddedPostgres({
    dataDir: path.join(dataDir, 'postgres'),
    log: (line) => context.log.info({ postgres: line }, 'PostgreSQL log'),
  })
  let stopping = false
  context.scope.onStop('postgres', () => {
    stopping = true
    return postgres.stop()
  })
  void postgres.exited.then((exit) => {
    if (!stopping)
      context.fail(new Error(`PostgreSQL ended and could not be started again: ${JSON.stringify(exit)}`))
  })
  await migrate(postgres.url, { signal: context.signal })

  const mailDir = createDirectoryTransport(path.join(dataDir, 'mail'))
  const embedded = await embeddedPlatform(
    {
      databaseUrl: postgres.url,
      eventStore: { file: path.join(dataDir, 'analytics.duckdb'), settings: config.eventStore },
      limits: config.limits,
      geoFile: config.geo.file,
    },
    context,
  )
  // Also with SMTP, because earlier messages may be in the directory.
  const platform = { ...embedded, deleteMailCopies: mailDir.deleteCopies }
  const baseUrl = `http://localhost:${config.http.port}`
  const { smtpUrl: url, timeoutMs } = config.mail
  const transport = url ? createSmtpTransport({ url, timeoutMs }) : mailDir
  context.scope.onStop('mail', () => transport.close())
  const archive = await openArchive(config.archive, path.join(dataDir, 'archive'))
  if (archive) context.scope.onStop('archive', async () => archive.store.close())
  const options = {
    archive,
    shortLinkBaseUrl: config.shortLinkBaseUrl || baseUrl,
    processInfo: { apps: APPS, metricsPort: config.http.metricsPort },
    publicUrl: config.mail.publicUrl || baseUrl,
    oidc: config.oidc,
    erasures: {
      secret: await keepSecret(
        path.join(dataDir, 'erasure-secret'),
        'certificates of erasures have another key',
      ),
      backupRetentionDays: config.backupRetentionDays,
    },
    quotas: config.quotas,
    allowedSenders: config.mail.allowedSenders,
    registrationMode: registrationModeOf(config.registrationMode, config.http.host),
    mail: {
      ...config.mail,
      transport,
      publicUrl: config.mail.publicUrl || baseUrl,
      secrets: [
        await keepSecret(path.join(dataDir, 'mail-secret'), 'unsubscribe links in sent emails stop working'),
      ],
    },
    webhooks: config.webhooks,
    flagStreams: config.flagStreams,
  }
  const service = createAllServices(platform, options, context.scope)
  const demoFile = path.join(dataDir, 'demo.json')
  const demo = await keepDemoFile(demoFile, baseUrl, platform)
  const { metricsPort } = await startService(service, config.http, platform, context.scope)
  process.stdout.write(greeting(demo, demoFile, metricsPort))
  if (config.demoData === 'on')
    addDemoDataInBackground({ ...platform, mailsToFiles: url === '' }, demo, context.scope)
})
