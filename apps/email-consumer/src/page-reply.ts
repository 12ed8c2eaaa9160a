import { escapeHtml } from '@waymark/domain/text'
import type { Reply } from '@waymark/service-kit'

/** The text of a page; `action` labels its button. */
type PageText = { title: string; text: string; action?: string }

// Stricter than the default policy, but without `upgrade-insecure-requests`: the form must also work over plain HTTP.
const HEADERS = {
  'Content-Security-Policy':
    "default-src 'none'; style-src 'unsafe-inline'; form-action 'self'; base-uri 'none'",
  'Cache-Control': 'no-store',
  'X-Robots-Tag': 'noindex',
} as const

/** A small HTML page. Its text is escaped. */
export const pageReply = (text: PageText): Reply => ({
  headers: HEADERS,
  type: 'text/html; charset=utf-8',
  body: pageOf(text),
})

const pageOf = ({ title, text, action }: PageText): string => `<!doctype html>
<html lang="en">
<head>
<meta charset="utf-8">
<meta name="viewport" content="width=device-width">
<title>${escapeHtml(title)}</title>
<style>
body { font: 1rem/1.5 system-ui, sans-serif; max-width: 28rem; margin: 15vh auto; padding: 0 1rem; }
button { font: inherit; padding: .5rem 1rem; }
</style>
</head>
<body>
<h1>${escapeHtml(title)}</h1>
<p>${escapeHtml(text)}</p>
${action === undefined ? '' : `<form method="post"><button>${escapeHtml(action)}</button></form>`}
</body>
</html>
`
