import type { Demo } from './demo-file.ts'

/**
 * What a start prints for the person at the console: where Waymark answers, and a first event to paste. The key stands in
 * it when it is new; later starts say where it is kept, since consoles are often logged.
 */
export const greeting = ({ baseUrl, apiKey, projectId, isNew }: Demo, file: string): string =>
  isNew
    ? `
Waymark answers on ${baseUrl}

Send a first event:

  curl '${baseUrl}/api/v1/t?sync=1' \\
    -H 'X-API-Key: ${apiKey}' -H 'Content-Type: application/json' \\
    -d '{"eventName":"signed_up","visitorId":"visitor-1","properties":{"plan":"free"}}'

and read it back:

  curl '${baseUrl}/api/projects/${projectId}/events?limit=1' -H 'X-API-Key: ${apiKey}'

`
    : `
Waymark answers on ${baseUrl}

The key of the demo project is in ${file}

`
