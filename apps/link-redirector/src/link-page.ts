import { type HttpRequest, prefersHtml, type Reply } from '@waymark/service-kit'

/** Why a visitor is not redirected. */
export type Refusal = { status: 404 | 410; error: string; reason?: string }

export const unknownLink: Refusal = { status: 404, error: 'There is no such link' }

/** A redirect that is not cached. */
export const redirectTo = (location: string): Reply => ({
  status: 302,
  headers: { Location: location, 'Cache-Control': 'no-store' },
})

/**
 * The answer without the destination: a redirect to `address` if there is one, or else a small page for browsers and JSON
 * for other clients.
 */
export const refusalReply = (
  request: HttpRequest,
  { status, error, reason }: Refusal,
  address?: string | null,
): Reply => {
  if (address) return redirectTo(address)
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
