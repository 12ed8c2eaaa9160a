import { existsSync } from 'node:fs'
import { readFile } from 'node:fs/promises'
import { createRequire } from 'node:module'
import path from 'node:path'
import { AppError } from '@waymark/contracts/app-error'
import type { Endpoint } from '@waymark/contracts/http/operation'
import { acceptsBrotli, type HttpRequest, type Reply, type Route, route } from '@waymark/service-kit'
import type { ShareAccess } from '../shares/share-access.ts'

const require = createRequire(import.meta.url)

/** The built console. */
const BUILT = path.join(path.dirname(require.resolve('@waymark/console/package.json')), 'dist')

const TYPES: Record<string, string> = {
  '.css': 'text/css; charset=utf-8',
  '.html': 'text/html; charset=utf-8',
  '.js': 'text/javascript; charset=utf-8',
  '.svg': 'image/svg+xml',
  '.woff2': 'font/woff2',
}

const policy = (directives: Record<string, string>): string =>
  Object.entries({ 'default-src': "'none'", 'base-uri': "'none'", 'form-action': "'none'", ...directives })
    .map(([name, value]) => `${name} ${value}`)
    .join('; ')

/** For the pages of the console. @param frameHosts the hosts whose pages may frame it */
const consolePolicy = (frameHosts: readonly string[] = []): string =>
  policy({
    'script-src': "'self'",
    'style-src': "'self'",
    'img-src': "'self' data: blob:",
    'font-src': "'self'",
    'connect-src': "'self'",
    'frame-src': "'self'",
    'frame-ancestors': frameHosts.length > 0 ? frameHosts.join(' ') : "'none'",
  })

const CONSOLE_POLICY = consolePolicy()

/** For the frame with previews of emails, which has an opaque origin and may load styles and images. */
const EMAIL_POLICY = policy({
  sandbox: 'allow-scripts',
  'script-src': "'self'",
  'style-src': "'unsafe-inline'",
  'img-src': 'https: data:',
  'frame-ancestors': "'self'",
})

const endpoint = (place: string): Endpoint => ({ method: 'get', path: place })

/**
 * The files of the console, its page for all other paths below `/console`, and the page of shared links, which is the same
 * file.
 */
export const consoleRoutes = (shareAccess: Pick<ShareAccess, 'findForPage'>): Route[] => [
  route(endpoint('/console'), (request) => page(request)),
  route(endpoint('/console/assets/{file}'), (request) =>
    // Their names change with their contents.
    fileOf(request, path.join('assets', request.params.file ?? ''), 'public, max-age=31536000, immutable'),
  ),
  ...['icon.svg', 'theme.js'].map((file) =>
    route(endpoint(`/console/${file}`), (request) => fileOf(request, file, 'no-cache')),
  ),
  route(endpoint('/console/email-frame.js'), (request) => {
    const { headers, ...reply } = fileOf(request, 'email-frame.js', 'no-cache')
    // The frame that loads it has an opaque origin.
    return { ...reply, headers: { ...headers, 'Cross-Origin-Resource-Policy': 'cross-origin' } }
  }),
  route(endpoint('/console/email-frame.html'), (request) => {
    const { headers, ...reply } = fileOf(request, 'email-frame.html', 'no-cache')
    return {
      ...reply,
      headers: { ...headers, 'Content-Security-Policy': EMAIL_POLICY, 'X-Frame-Options': 'SAMEORIGIN' },
    }
  }),
  route(endpoint('/console/*'), (request) => page(request)),
  route(endpoint('/shared/{secret}'), async (request) => {
    const share = await shareAccess.findForPage(request.params.secret ?? '', request)
    return sharedPage(share?.frameHosts)
  }),
]

/** The page of a shared link, with 404 for one that is unknown, revoked or expired. */
const sharedPage = async (frameHosts: readonly string[] | undefined): Promise<Reply> => ({
  status: frameHosts ? 200 : 404,
  type: TYPES['.html'] ?? '',
  body: await readFile(indexPage()),
  headers: {
    'Cache-Control': 'no-store',
    'Content-Security-Policy': consolePolicy(frameHosts),
    // For browsers that do not know `frame-ancestors`, which the others prefer.
    'X-Frame-Options': 'DENY',
    'Referrer-Policy': 'no-referrer',
    'X-Robots-Tag': 'noindex, nofollow',
  },
})

const page = (request: HttpRequest): Reply => {
  indexPage()
  return fileOf(request, 'index.html', 'no-cache')
}

/** The path of the page. @throws AppError not_found when the console is not built */
const indexPage = (): string => {
  const file = path.join(BUILT, 'index.html')
  if (existsSync(file)) return file
  throw new AppError('not_found', 'The console is not built: run npm run build --workspace @waymark/console')
}

const fileOf = (request: HttpRequest, name: string, caching: string): Reply => {
  const type = TYPES[path.extname(name)]
  const file = path.join(BUILT, name)
  if (type === undefined || !isBelow(file) || !existsSync(file)) throw new AppError('not_found', 'Not found')
  const compressed = acceptsBrotli(request) && existsSync(`${file}.br`)
  return {
    headers: {
      'Content-Type': type,
      'Cache-Control': caching,
      'Content-Security-Policy': CONSOLE_POLICY,
      Vary: 'Accept-Encoding',
      ...(compressed && { 'Content-Encoding': 'br' }),
    },
    file: compressed ? `${file}.br` : file,
  }
}

const isBelow = (file: string): boolean => file.startsWith(BUILT + path.sep)
