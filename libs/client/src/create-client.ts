import createOpenApiClient, {
  type FetchResponse,
  type MaybeOptionalInit,
  type Client as OpenApiClient,
} from 'openapi-fetch'
import type { HttpMethod, PathsWithMethod } from './api-types.ts'
import { ApiError, ConnectionError, operationName } from './errors.ts'
import type { paths } from './generated/api.d.ts'
import { isRepeatable, type Sent, withIds } from './repeatable.ts'
import { fetchWithRetries, type RetryOptions } from './retry.ts'

export type ClientOptions = {
  /** The address of Waymark, such as `https://waymark.example`. A path of a proxy may follow. */
  baseUrl: string
  /** An API key or a personal access token. */
  token: string
  /** When requests are sent again. `{ attempts: 0 }` for never. */
  retry?: RetryOptions
  /** Replaces the global `fetch`. */
  fetch?: (request: Request) => Promise<Response>
  /** Headers of every request, such as `User-Agent`. */
  headers?: Record<string, string>
}

type Init<M extends HttpMethod, P extends keyof paths> = MaybeOptionalInit<paths[P], M>
/** The options of a call; they may be left out where nothing is required. */
type InitParam<I> = undefined extends I ? [init?: NonNullable<I>] : [init: I]
type Data<M extends HttpMethod, P extends keyof paths, I> = Extract<
  FetchResponse<Extract<paths[P][M], Record<string | number, unknown>>, I, 'application/json'>,
  { error?: never }
>['data']
type Item<M extends HttpMethod, P extends keyof paths> =
  Data<M, P, object> extends { data: (infer T)[]; nextCursor: string | null } ? T : never
/** The paths that are lists with pages. */
type Lists = {
  [P in PathsWithMethod<'get'>]: Item<'get', P> extends never ? never : P
}[PathsWithMethod<'get'>]

/**
 * Calls an operation of the API by its path. Resolves to the JSON of the answer, or to what `parseAs` says.
 * @throws ApiError for a status from 400 on
 * @throws ConnectionError without an answer
 */
type Call<M extends HttpMethod> = <P extends PathsWithMethod<M>, I extends Init<M, P>>(
  path: P,
  ...init: InitParam<I>
) => Promise<Data<M, P, I>>

/** A client of the HTTP API. All paths, parameters and answers are typed by the OpenAPI document. */
export type Client = { readonly [M in HttpMethod]: Call<M> } & {
  /** The address of the server. */
  readonly baseUrl: string
  /** The records of all pages of a list, read as they are needed. */
  list<P extends Lists>(path: P, ...init: InitParam<Init<'get', P>>): AsyncGenerator<Item<'get', P>, void>
  /** The client of openapi-fetch, for answers with headers. It retries as well, but does not throw for a status. */
  readonly raw: OpenApiClient<paths>
}

/** Creates a client of the HTTP API. */
export const createClient = ({
  baseUrl: givenBaseUrl,
  token,
  retry = {},
  fetch: fetchOnce = (request) => globalThis.fetch(request),
  headers = {},
}: ClientOptions): Client => {
  const baseUrl = givenBaseUrl.replace(/\/+$/, '')
  const repeatable = new WeakSet<Request>()
  const raw = createOpenApiClient<paths>({
    baseUrl,
    headers: { ...headers, Authorization: `Bearer ${token}` },
    fetch: (request) => fetchWithRetries(fetchOnce, request, repeatable.has(request), retry),
  })
  raw.use({
    onRequest: ({ request, schemaPath }) => {
      if (isRepeatable(request.method.toLowerCase(), schemaPath)) repeatable.add(request)
    },
    onError: ({ error, request, schemaPath }) =>
      request.signal.aborted
        ? undefined
        : new ConnectionError(operationName(request.method, schemaPath), baseUrl, error),
  })

  type Untyped = (
    path: string,
    init: Sent,
  ) => Promise<{ data?: unknown; error?: unknown; response: Response }>
  const call = (method: HttpMethod) => {
    const send = raw[method.toUpperCase() as Uppercase<HttpMethod>] as unknown as Untyped
    return async (path: string, init: Sent = {}): Promise<unknown> => {
      const { data, error, response } = await send(path, withIds(method, path, init))
      if (!response.ok) throw new ApiError(operationName(method, path), response, error)
      return data
    }
  }
  const get = call('get')
  type Page = { data: unknown[]; nextCursor: string | null }
  async function* list(path: string, init: { params?: { query?: object } } = {}) {
    let cursor: string | null = null
    do {
      const query = { ...init.params?.query, ...(cursor !== null && { cursor }) }
      const page = (await get(path, { ...init, params: { ...init.params, query } } as Sent)) as Page
      yield* page.data
      cursor = page.nextCursor
    } while (cursor !== null)
  }

  return {
    baseUrl,
    raw,
    get,
    post: call('post'),
    put: call('put'),
    patch: call('patch'),
    delete: call('delete'),
    list,
  } as unknown as Client
}
