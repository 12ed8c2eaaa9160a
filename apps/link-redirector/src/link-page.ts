import { type HttpRequest, prefersHtml, type Reply } from '@waymark/service-kit'

/** What a visitor is told when a link leads nowhere. */
export type Refusal = { status: 404 | 410; error: string; reason?: string }

/** The answer when a link leads nowhere: a small page for a browser, JSON for everybody else. */
export const refusalReply = (request: HttpRequest, { status, error, reason }: Refusal): Reply => {
  const headers = { 'Cache-Control': 'no-store', Vary: 'Accept' }
  return prefersHtml(request)
    ? { status, headers, shown: true, type: 'text/html; charset=utf-8', body: page(error) }
    : { status, headers, shown: true, body: { error, ...(reason && { reason }) } }
}

const page = (message: string): string => `<!doctype html>
<html lang="en">
<meta charset="utf-8">
<meta name="viewport" content="width=device-width">
<meta name="robots" content="noindex">
<title>${message}</title>
<style>
  body { display: grid; place-content: center; min-height: 90vh; font: 1.2rem system-ui, sans-serif; color-scheme: light dark }
</style>
<h1>${message}</h1>
</html>
`
