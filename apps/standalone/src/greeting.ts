import type { Demo } from './demo-file.ts'
import { quoteForShell } from './shell-variables.ts'

/**
 * The text that a start prints: the address of Waymark, and commands for sh, bash or zsh. Keys are printed only when they
 * are new, because console output is often logged.
 */
export const greeting = (
  { baseUrl, apiKey, projectId, email, password, isNew }: Demo,
  file: string,
  metricsPort: number,
): string => {
  const variables = `  eval "$(npm run -s demo:env -- ${quoteForShell(file)})"`
  return isNew
    ? `
Waymark answers on ${baseUrl}

Open the console in a browser and sign in:

  ${baseUrl}/console/
  Email     ${email}
  Password  ${password}

${metricsLine(metricsPort)}

Send a first event:

${firstEvent(`'${baseUrl}/api/v1/t?sync=1'`, `'X-API-Key: ${apiKey}'`)}

and read it back:

  curl '${baseUrl}/api/projects/${projectId}/events?limit=1' -H 'X-API-Key: ${apiKey}'

For the commands of README.md, give your shell the address and the keys, in this directory:

${variables}

`
    : `
Waymark answers on ${baseUrl}
The console for browsers: ${baseUrl}/console/
${metricsLine(metricsPort)}

The sign-in and the keys of the demo project are in ${file}
Give them to your shell, in this directory, and send an event:

${variables}

${firstEvent('"$URL/api/v1/t?sync=1"', '"X-API-Key: $KEY"')}

`
}

const firstEvent = (url: string, header: string): string => `  curl ${url} \\
    -H ${header} -H 'Content-Type: application/json' \\
    -d '{"eventName":"signed_up","visitorId":"visitor-1","properties":{"plan":"free"}}'`

// Port 0: the port for metrics could not be opened.
const metricsLine = (port: number): string =>
  port === 0 ? 'Metrics are not available' : `Metrics for Prometheus are on http://localhost:${port}/metrics`
