import { brotliCompressSync, deflateSync, gzipSync } from 'node:zlib'
import type { Operation } from '@waymark/contracts/http/operation'
import fc from 'fast-check'
import type { Call, World } from '../openapi/world.ts'
import { fittingValue } from './fitting-value.ts'
import { hostileText, hostileValue, writeJson } from './hostile-values.ts'
import { type Change, changed, changes } from './spoilt-json.ts'

/** A request as sent, byte for byte. */
export type RawRequest = {
  method: string
  path: string
  headers: Record<string, string>
  body: Buffer | undefined
}

type Bytes = 'as it is' | 'cut' | 'flipped' | 'not UTF-8' | 'doubled' | 'with a BOM' | 'UTF-16' | 'empty'
type Encoding =
  | 'identity'
  | 'gzip'
  | 'deflate'
  | 'br'
  | 'gzip bomb'
  | 'br bomb'
  | 'cut gzip'
  | 'not gzip'
  | 'unknown'

/** A change of a valid request. */
type Spoiling = {
  base: { from: 'example' } | { from: 'schema' | 'anything'; value: unknown }
  changes: Change[]
  bytes: Bytes
  at: number
  encoding: Encoding
  contentType: string | undefined
  headers: Record<string, string>
  query: Record<string, string>
  /** Parameters of the path, by their position. */
  path: Record<string, string>
}

const usually = <T>(usual: T, otherwise: fc.Arbitrary<T>): fc.Arbitrary<T> =>
  fc.oneof({ weight: 12, arbitrary: fc.constant(usual) }, { weight: 1, arbitrary: otherwise })

// The client of Node.js refuses control characters except tabs, and characters beyond Latin-1.
const headerValue = hostileText.map((text) => text.replace(/[^\t\x20-\x7e\x80-\xff]/g, '').slice(0, 8_000))

const headers = usually<Record<string, string>>(
  {},
  fc.dictionary(
    fc.constantFrom(
      'X-Request-Id',
      'X-Forwarded-For',
      'X-Forwarded-Proto',
      'X-Service-Sync',
      'Idempotency-Key',
      'If-Match',
      'If-None-Match',
      'Origin',
      'Cookie',
      'Authorization',
      'User-Agent',
      'Referer',
      'Accept',
      'Accept-Language',
      'Expect',
      'Range',
      'Host',
      'X-API-Key',
    ),
    headerValue,
    { minKeys: 1, maxKeys: 3 },
  ),
)

/** Changes of requests to an operation. */
export const spoilings = ({ path, body, query }: Operation): fc.Arbitrary<Spoiling> => {
  const parameters = [...path.matchAll(/\{(\w+)\}/g)].map(([, name = '']) => name)
  const queryNames = Object.keys((query?.schema as { properties?: object } | undefined)?.properties ?? {})
  const spoiltQuery = fc.dictionary(
    fc.oneof(fc.constantFrom('limit', 'cursor', 'sync', ...queryNames), hostileText),
    fc.oneof(
      hostileText,
      fc.constantFrom('0', '1', '500', '501', 'true', '2024-01-01T00:00:00Z'),
      hostileValue.map(writeJson),
    ),
    { minKeys: 1, maxKeys: 4 },
  )
  return fc.record({
    base: fc.oneof(
      { weight: 6, arbitrary: fc.constant({ from: 'example' as const }) },
      ...(body
        ? [
            {
              weight: 6,
              arbitrary: fittingValue(body.schema).map((value) => ({ from: 'schema' as const, value })),
            },
          ]
        : []),
      { weight: 1, arbitrary: fc.jsonValue().map((value) => ({ from: 'anything' as const, value })) },
    ),
    changes,
    bytes: usually<Bytes>(
      'as it is',
      fc.constantFrom('cut', 'flipped', 'not UTF-8', 'doubled', 'with a BOM', 'UTF-16', 'empty'),
    ),
    at: fc.nat(1_000_000),
    encoding: usually<Encoding>(
      'identity',
      fc.constantFrom('gzip', 'deflate', 'br', 'gzip bomb', 'br bomb', 'cut gzip', 'not gzip', 'unknown'),
    ),
    contentType: usually<string | undefined>(
      undefined,
      fc.oneof(
        fc.constantFrom(
          'text/plain',
          'application/json; charset=utf-16',
          'application/JSON;charset="utf-8"',
          'application/vnd.api+json',
          'multipart/form-data; boundary=a',
          'application/x-www-form-urlencoded',
          'text/csv; header=present',
        ),
        headerValue,
      ),
    ),
    headers,
    query: query ? fc.oneof(fc.constant({}), spoiltQuery) : usually<Record<string, string>>({}, spoiltQuery),
    path:
      parameters.length === 0
        ? fc.constant({})
        : (body ? usually<Record<string, string>> : alternatively)(
            {},
            fc.dictionary(fc.constantFrom(...parameters), fc.oneof(hostileText, fc.uuid()), { minKeys: 1 }),
          ),
  })
}

const alternatively = <T>(usual: T, otherwise: fc.Arbitrary<T>): fc.Arbitrary<T> =>
  fc.oneof(fc.constant(usual), otherwise)

/** Creates a request from a valid call and a change. */
export const spoilt = (
  operation: Operation,
  { params = {}, query = {}, headers = {}, body, key }: Call,
  spoiling: Spoiling,
  { projectId, apiKey }: Pick<World, 'projectId' | 'apiKey'>,
): RawRequest => {
  const path = operation.path.replace(/\{(\w+)\}/g, (_, name: string) =>
    escaped(spoiling.path[name] ?? params[name] ?? (name === 'projectId' ? projectId : crypto.randomUUID())),
  )
  const asked = Object.entries({ ...query, ...spoiling.query }).map(
    ([name, value]) => `${escaped(name)}=${escaped(value)}`,
  )
  const bytes =
    operation.body || operation.consumes || spoiling.base.from === 'anything'
      ? bytesOf(body, spoiling)
      : undefined
  const contentType = spoiling.contentType ?? (bytes && 'application/json')
  const encoding = encodingHeaders[spoiling.encoding]
  return {
    method: operation.method.toUpperCase(),
    path: asked.length > 0 ? `${path}?${asked.join('&')}` : path,
    headers: {
      ...(key !== null && { 'X-API-Key': key ?? apiKey }),
      ...(contentType !== undefined && { 'Content-Type': contentType }),
      ...(bytes && encoding && { 'Content-Encoding': encoding }),
      ...headers,
      ...spoiling.headers,
    },
    body: bytes && encoded(bytes, spoiling.encoding),
  }
}

// Lone surrogates have no percent-encoding; their bytes in WTF-8 are not valid UTF-8.
const escaped = (text: string): string =>
  text.isWellFormed() ? encodeURIComponent([...text].slice(0, 4_000).join('')) : '%ed%a0%80'

const bytesOf = (body: unknown, { base, changes, bytes, at }: Spoiling): Buffer => {
  const value = base.from === 'example' ? body : base.value
  const text =
    typeof value === 'string' && base.from === 'example' ? value : writeJson(changed(value, changes))
  const whole = Buffer.from(text)
  const place = whole.length === 0 ? 0 : at % whole.length
  switch (bytes) {
    case 'as it is':
      return whole
    case 'cut':
      return whole.subarray(0, place)
    case 'flipped':
      return Buffer.concat([
        whole.subarray(0, place),
        Buffer.of((whole[place] ?? 0) ^ (1 << (at % 8))),
        whole.subarray(place + 1),
      ])
    case 'not UTF-8':
      return Buffer.concat([
        whole.subarray(0, place),
        Buffer.of(0xc3, 0x28, 0xff, 0xed, 0xa0, 0x80),
        whole.subarray(place),
      ])
    case 'doubled':
      return Buffer.concat([whole, whole])
    case 'with a BOM':
      return Buffer.concat([Buffer.of(0xef, 0xbb, 0xbf), whole])
    case 'UTF-16':
      return Buffer.from(text, 'utf16le')
    case 'empty':
      return Buffer.alloc(0)
  }
}

const encodingHeaders: Record<Encoding, string | undefined> = {
  identity: undefined,
  gzip: 'gzip',
  deflate: 'deflate',
  br: 'br',
  'gzip bomb': 'gzip',
  'br bomb': 'br',
  'cut gzip': 'gzip',
  'not gzip': 'gzip',
  unknown: 'compress, gzip',
}

const MUCH = Buffer.alloc(64 * 1024 * 1024, ' ')
const gzipBomb = gzipSync(MUCH)
const brotliBomb = brotliCompressSync(MUCH)

const encoded = (bytes: Buffer, encoding: Encoding): Buffer => {
  switch (encoding) {
    case 'gzip':
      return gzipSync(bytes)
    case 'deflate':
      return deflateSync(bytes)
    case 'br':
      return brotliCompressSync(bytes)
    case 'gzip bomb':
      return gzipBomb
    case 'br bomb':
      return brotliBomb
    case 'cut gzip':
      return gzipSync(bytes).subarray(0, -9)
    default:
      return bytes
  }
}
