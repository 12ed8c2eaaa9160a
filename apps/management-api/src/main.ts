import { runAppWithAnalytics } from '@waymark/service-kit'
import { createManagementApi } from './app.ts'
import { allowedSendersConfig, quotasConfig, registrationConfig, shortLinkConfig } from './config.ts'

const config = {
  shortLinks: shortLinkConfig,
  quotas: quotasConfig,
  registration: registrationConfig,
  mail: allowedSendersConfig,
}

await runAppWithAnalytics(
  'management-api',
  { port: 8081, config },
  (platform, { shortLinks, registration, ...rest }) =>
    createManagementApi(platform, {
      shortLinkBaseUrl: shortLinks.baseUrl,
      processInfo: { apps: ['management-api'], metricsPort: rest.http.metricsPort },
      quotas: rest.quotas,
      registrationMode: registration.mode,
      allowedSenders: rest.mail.allowedSenders,
    }),
)
