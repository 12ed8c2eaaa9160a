import type { LinkCard } from '@waymark/contracts/http/links'
import { escapeHtml } from '@waymark/domain/text'
import type { Reply } from '@waymark/service-kit'

const HEADERS = {
  'Cache-Control': 'no-store',
  Vary: 'User-Agent',
  'Content-Security-Policy':
    "default-src 'none'; base-uri 'none'; form-action 'none'; frame-ancestors 'none'",
}

type CardPage = {
  card: LinkCard
  /** The short URL, if known. */
  shortUrl: string | undefined
  /** Where the link leads, undefined when that must not be visible. */
  destination: string | undefined
}

/** The page with the preview card of a link, for link-preview bots. The texts and addresses are escaped. */
export const previewReply = (page: CardPage): Reply => ({
  headers: HEADERS,
  shown: true,
  type: 'text/html; charset=utf-8',
  body: pageOf(page),
})

// The canonical link is the short URL, because bots show what they find at the canonical link.
const pageOf = ({
  card: { title, description, image },
  shortUrl,
  destination,
}: CardPage): string => `<!doctype html>
<html>
<head>
<meta charset="utf-8">
<title>${escapeHtml(title)}</title>
${[
  shortUrl && `<link rel="canonical" href="${escapeHtml(shortUrl)}">`,
  meta('name', 'description', description),
  meta('property', 'og:type', 'website'),
  meta('property', 'og:title', title),
  meta('property', 'og:description', description),
  meta('property', 'og:url', shortUrl),
  meta('property', 'og:image', image),
  meta('name', 'twitter:card', image ? 'summary_large_image' : 'summary'),
  meta('name', 'twitter:title', title),
  meta('name', 'twitter:description', description),
  meta('name', 'twitter:image', image),
]
  .filter(Boolean)
  .join('\n')}
</head>
<body>
<h1>${escapeHtml(title)}</h1>
${destination === undefined ? '' : `<p><a href="${escapeHtml(destination)}">${escapeHtml(title)}</a></p>`}
</body>
</html>
`

const meta = (kind: 'name' | 'property', name: string, content: string | undefined): string | undefined =>
  content && `<meta ${kind}="${name}" content="${escapeHtml(content)}">`
