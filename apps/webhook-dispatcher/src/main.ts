import { runApp } from '@waymark/service-kit'
import { createWebhookDispatcher } from './app.ts'
import { webhookConfig } from './config.ts'

await runApp(
  'webhook-dispatcher',
  { port: 8089, config: { webhooks: webhookConfig } },
  (platform, { webhooks }, scope) => createWebhookDispatcher(platform, webhooks, scope),
)
