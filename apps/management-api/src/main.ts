import { runAppWithAnalytics } from '@waymark/service-kit'
import { createManagementApi } from './app.ts'
import {
  allowedSendersConfig,
  erasuresConfig,
  oidcConfig,
  publicUrlConfig,
  quotasConfig,
  registrationConfig,
  shortLinkConfig,
} from './config.ts'

const config = {
  shortLinks: shortLinkConfig,
  quotas: quotasConfig,
  registration: registrationConfig,
  mail: allowedSendersConfig,
  oidc: oidcConfig,
  erasures: erasuresConfig,
  publicUrl: publicUrlConfig,
}

await runAppWithAnalytics(
  'management-api',
  { port: 8081, config },
  (platform, { shortLinks, registration, oidc, ...rest }) =>
    createManagementApi(platform, {
      shortLinkBaseUrl: shortLinks.baseUrl,
      processInfo: { apps: ['management-api'], metricsPort: rest.http.metricsPort },
      quotas: rest.quotas,
      registrationMode: registration.mode,
      publicUrl: rest.publicUrl.url,
      oidc,
      erasures: rest.erasures,
      allowedSenders: rest.mail.allowedSenders,
    }),
)
