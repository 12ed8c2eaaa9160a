import { runApp } from '@waymark/service-kit'
import { createLinkRedirector } from './app.ts'

await runApp('link-redirector', { port: 8085, config: {} }, (platform) => createLinkRedirector(platform))
