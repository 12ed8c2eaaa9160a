import { createHash } from 'node:crypto'
import { existsSync, readFileSync } from 'node:fs'
import { createRequire } from 'node:module'
import path from 'node:path'
import { brotliCompressSync, gzipSync } from 'node:zlib'
import { AppError } from '@waymark/contracts/app-error'
import type { Endpoint } from '@waymark/contracts/http/operation'
import { type HttpRequest, namesTag, type Reply, type Route, route } from '@waymark/service-kit'

const require = createRequire(import.meta.url)

/** The built script for browsers. */
const FILE = path.join(path.dirname(require.resolve('@waymark/web/package.json')), 'dist/w.js')

type Script = { hash: string; integrity: string; encodings: Record<'br' | 'gzip' | 'identity', Buffer> }

/** How long a browser uses the short address without asking again, in seconds. */
const MAX_AGE_S = 600
const YEAR_S = 31_536_000

/** Pages of other sites load it, also with `integrity`, for which a browser asks with CORS. */
const FOR_ALL_SITES = {
  'Access-Control-Allow-Origin': '*',
  'Cross-Origin-Resource-Policy': 'cross-origin',
}

const endpoint = (urlPath: string): Endpoint => ({ method: 'get', path: urlPath, forPrograms: true })

/** The browser script at its short address and at one that never changes, and where the latter is. */
export const scriptRoutes = (file = FILE): Route[] => {
  let read: Script | undefined
  const script = (): Script => {
    read ??= readScript(file)
    return read
  }
  return [
    route(endpoint('/w.js'), (request) => scriptReply(request, script(), `public, max-age=${MAX_AGE_S}`)),
    route(endpoint('/w/{file}'), (request) => {
      const found = script()
      if (request.params.file !== `${found.hash}.js`) throw new AppError('not_found', 'Not found')
      return scriptReply(request, found, `public, max-age=${YEAR_S}, immutable`)
    }),
    route(endpoint('/w.json'), () => {
      const { hash, integrity } = script()
      return {
        headers: { ...FOR_ALL_SITES, 'Cache-Control': 'no-cache' },
        body: { path: `/w/${hash}.js`, integrity },
      }
    }),
  ]
}

const readScript = (file: string): Script => {
  if (!existsSync(file))
    throw new AppError(
      'not_found',
      'The browser script is not built: run npm run build --workspace @waymark/web',
    )
  const identity = readFileSync(file)
  return {
    hash: createHash('sha256').update(identity).digest('hex').slice(0, 16),
    integrity: `sha384-${createHash('sha384').update(identity).digest('base64')}`,
    encodings: { identity, br: brotliCompressSync(identity), gzip: gzipSync(identity) },
  }
}

const scriptReply = (
  { headers, message }: HttpRequest,
  { hash, encodings }: Script,
  caching: string,
): Reply => {
  const accepted = message.acceptsEncodings(['br', 'gzip', 'identity'])
  const encoding = accepted === 'br' || accepted === 'gzip' ? accepted : 'identity'
  const tag = `"${hash}"`
  const own = {
    ...FOR_ALL_SITES,
    'Cache-Control': caching,
    ETag: `W/${tag}`,
    Vary: 'Accept-Encoding',
  }
  if (namesTag(headers['if-none-match'], tag)) return { status: 304, headers: own }
  return {
    headers: { ...own, ...(encoding !== 'identity' && { 'Content-Encoding': encoding }) },
    type: 'text/javascript; charset=utf-8',
    body: encodings[encoding],
  }
}
