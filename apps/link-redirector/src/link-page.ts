import { type HttpRequest, prefersHtml, type Reply } from '@waymark/service-kit'

/** Why a visitor is not redirected. */
export type Refusal = { status: 404 | 410; error: string; reason?: string }

/** The answer without a redirect: a small page for browsers, JSON for other clients. */
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
