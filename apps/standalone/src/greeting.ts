import type { DemoFile } from './demo-file.ts'

/** What a start prints for the person at the console: where Waymark answers, and a first event to paste. */
export const greeting = ({ baseUrl, apiKey, projectId }: DemoFile): string => `
Waymark answers on ${baseUrl}

Send a first event:

  curl '${baseUrl}/api/v1/t?sync=1' \\
    -H 'X-API-Key: ${apiKey}' -H 'Content-Type: application/json' \\
    -d '{"eventName":"signed_up","visitorId":"visitor-1","properties":{"plan":"free"}}'

and read it back:

  curl '${baseUrl}/api/projects/${projectId}/events?limit=1' -H 'X-API-Key: ${apiKey}'

`
