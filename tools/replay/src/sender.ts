import { setTimeout as delay } from 'node:timers/promises'

/** An event ready to be sent, with the line it came from. */
export type Outgoing = { line: number; json: string }

/** The body of one request, and the line of each event in it. */
export type Batch = { lines: number[]; body: string }

/** Where to send: the address of a running Waymark and an API key with the scope `events:write`. */
export type Target = { url: string; key: string }

/** Events by what the server said of them; an event without an answer is in none. */
export type Totals = { sent: number; accepted: number; failed: number }

/** Why the server did not take the event of a line. */
export type Failure = { line: number; reason: string }

export type SenderOptions = {
  /** Asked at the start and before each repeat, so that a server is followed to another address. */
  target: () => Promise<Target>
  concurrency?: number
  /** Asks for the synchronous path: slower, but the answer proves that the events are stored. */
  sync?: boolean
  timeoutMs?: number
  signal?: AbortSignal
  sleep?: (ms: number, signal: AbortSignal) => Promise<void>
  onProgress?: (totals: Totals) => void
  /** Called with a reason when the server cannot take events now, and with undefined when it can again. */
  onWaiting?: (reason: string | undefined) => void
  onFailure?: (failure: Failure) => void
}

/** The server refuses all of this: repeating it or going on makes no sense. */
export type Refusal = Error & { name: 'Refusal' }

type Answer =
  | { kind: 'counted'; accepted: number; failures: { index: number; reason: string }[] }
  | { kind: 'retry'; reason: string; waitMs: number | undefined }
  | { kind: 'refused'; reason: string }

const MAX_EVENTS = 100
// The server takes 1 MiB; a hundred of the longest events are more than that.
const MAX_BODY_BYTES = 1_000_000
const FIRST_DELAY_MS = 200
const MAX_DELAY_MS = 5_000
const MAX_ASKED_DELAY_MS = 3_600_000

/** Gathers events into bodies of 100, or fewer where they are long. What came before an error is still sent. */
export async function* inBatches(events: AsyncIterable<Outgoing>): AsyncGenerator<Batch> {
  let gathered: Outgoing[] = []
  let bytes = 0
  const take = (): Batch => {
    const batch = {
      lines: gathered.map(({ line }) => line),
      body: `{"events":[${gathered.map(({ json }) => json).join(',')}]}`,
    }
    gathered = []
    bytes = 0
    return batch
  }
  let failure: { error: unknown } | undefined
  try {
    for await (const event of events) {
      const size = Buffer.byteLength(event.json) + 1
      if (bytes + size > MAX_BODY_BYTES && gathered.length > 0) yield take()
      gathered.push(event)
      bytes += size
      if (gathered.length === MAX_EVENTS) yield take()
    }
  } catch (error) {
    failure = { error }
  }
  if (gathered.length > 0) yield take()
  if (failure) throw failure.error
}

/**
 * Sends every batch until the server has answered for each of its events, for ever when it is away. Safe to
 * repeat because each event has an id of its own.
 *
 * @throws Refusal when the server refuses the key or the requests as such; the signal's reason when aborted
 */
export const sendBatches = async (batches: AsyncIterable<Batch>, options: SenderOptions): Promise<Totals> => {
  const { concurrency = 2, sync = false, timeoutMs = 10_000, sleep = abortableDelay } = options
  const stop = new AbortController()
  const onAbort = () => stop.abort(options.signal?.reason)
  if (options.signal?.aborted) onAbort()
  options.signal?.addEventListener('abort', onAbort, { once: true })
  const totals: Totals = { sent: 0, accepted: 0, failed: 0 }
  let target = await options.target()

  const deliver = async (batch: Batch): Promise<void> => {
    for (let attempt = 0; ; attempt += 1) {
      stop.signal.throwIfAborted()
      const used = target
      const answer = await post(used, batch, { sync, timeoutMs, signal: stop.signal })
      if (answer.kind === 'counted') {
        options.onWaiting?.(undefined)
        return count(batch, answer)
      }
      if (answer.kind === 'refused') {
        // A server started anew may have a new key as well as a new address.
        target = await options.target()
        if (target.url !== used.url || target.key !== used.key) continue
        throw refusal(answer.reason)
      }
      options.onWaiting?.(answer.reason)
      const backOff = Math.min(MAX_DELAY_MS, FIRST_DELAY_MS * 2 ** attempt)
      await sleep(Math.max(answer.waitMs ?? backOff, FIRST_DELAY_MS), stop.signal)
      target = await options.target()
    }
  }
  const count = (batch: Batch, answer: Answer & { kind: 'counted' }): void => {
    const size = batch.lines.length
    totals.sent += size
    totals.accepted += answer.accepted
    totals.failed += size - answer.accepted
    for (const { index, reason } of answer.failures) {
      const line = batch.lines[index]
      if (line !== undefined) options.onFailure?.({ line, reason })
    }
    options.onProgress?.({ ...totals })
  }
  const queue = batches[Symbol.asyncIterator]()
  const work = async (): Promise<void> => {
    for (let next = await queue.next(); !next.done; next = await queue.next()) await deliver(next.value)
  }
  // An unreadable rest of the file does not stop the batches before it; a refusal stops everything.
  const worker = () =>
    work().catch((error: unknown) => {
      if (isRefusal(error)) stop.abort(error)
      throw error
    })
  // Not left to the workers: one may be waiting for a source that has nothing to say, such as a terminal.
  const stopped = new Promise<never>((_resolve, reject) => {
    const onStop = () => reject(stop.signal.reason)
    if (stop.signal.aborted) onStop()
    stop.signal.addEventListener('abort', onStop, { once: true })
  })
  try {
    const all = Promise.allSettled(Array.from({ length: concurrency }, worker))
    const ends = await Promise.race([all, stopped])
    const broken = ends.find((end) => end.status === 'rejected')
    if (broken) throw broken.reason
    return totals
  } finally {
    options.signal?.removeEventListener('abort', onAbort)
  }
}

/** Whether an error says that the server refuses everything (a wrong key, not a Waymark, …). */
export const isRefusal = (error: unknown): error is Refusal =>
  error instanceof Error && error.name === 'Refusal'

const refusal = (message: string): Refusal => Object.assign(new Error(message), { name: 'Refusal' as const })

const abortableDelay = async (ms: number, signal: AbortSignal): Promise<void> => {
  await delay(ms, undefined, { signal })
}

type PostOptions = { sync: boolean; timeoutMs: number; signal: AbortSignal }

const post = async (target: Target, batch: Batch, options: PostOptions): Promise<Answer> => {
  // Built outside of `try`: a malformed address or key is no reason to try again.
  const url = new URL('api/v1/t', target.url.replace(/\/*$/, '/'))
  if (options.sync) url.searchParams.set('sync', '1')
  const headers = new Headers({ 'X-API-Key': target.key, 'Content-Type': 'application/json' })
  const request = new AbortController()
  const abort = () => request.abort(options.signal.reason)
  const timeout = setTimeout(
    () => request.abort(new Error(`no answer within ${options.timeoutMs / 1000} s`)),
    options.timeoutMs,
  )
  options.signal.addEventListener('abort', abort, { once: true })
  try {
    const response = await fetch(url, {
      method: 'POST',
      headers,
      body: batch.body,
      redirect: 'manual',
      signal: request.signal,
    })
    return readAnswer(response, await response.text(), batch.lines.length)
  } catch (error) {
    options.signal.throwIfAborted()
    return { kind: 'retry', reason: `${url.host}: ${reasonOf(error)}`, waitMs: undefined }
  } finally {
    clearTimeout(timeout)
    options.signal.removeEventListener('abort', abort)
  }
}

const readAnswer = (response: Response, text: string, size: number): Answer => {
  const { status } = response
  const body = parseObject(text)
  const said = typeof body.error === 'string' ? `${status} ${body.error}` : `status ${status}`
  if (status === 429 || status === 408 || status >= 500) {
    const asked = askedDelayMs(body, response.headers.get('retry-after'))
    // A limit says when it ends. A dependency that is away is often back sooner than it says.
    const waitMs = asked === undefined || status === 429 ? asked : Math.min(asked, MAX_DELAY_MS)
    return { kind: 'retry', reason: `the server answered ${said}`, waitMs }
  }
  if (response.ok && isCount(body.accepted)) {
    const accepted = Math.min(body.accepted, size)
    return { kind: 'counted', accepted, failures: listFailures(body, size - accepted) }
  }
  const failures = listFailures(body, size)
  // The batch was understood, and none of its events was good.
  if ((status === 400 || status === 422) && failures.length > 0) {
    return { kind: 'counted', accepted: 0, failures }
  }
  if (status === 401 || status === 403) return { kind: 'refused', reason: `the API key is refused (${said})` }
  const odd = response.ok ? `${said} without counts; is this a Waymark?` : said
  return { kind: 'refused', reason: `${response.url} answered ${odd}` }
}

const listFailures = (body: Record<string, unknown>, failed: number): { index: number; reason: string }[] => {
  const invalid = listOf(body.invalid)
  if (invalid.length > 0) {
    return invalid.map(({ index, reason }) => ({ index: Number(index), reason: String(reason ?? 'invalid') }))
  }
  // On the synchronous path `errors` may hold warnings of accepted events, and then nothing tells them apart.
  const errors = listOf(body.errors)
  if (errors.length !== failed) return []
  return errors.map((item) => ({
    index: Number(item.index),
    reason: String(listOf(item.errors)[0]?.message ?? 'invalid'),
  }))
}

const askedDelayMs = (body: Record<string, unknown>, header: string | null): number | undefined => {
  const seconds = [
    body.retryAfter,
    header === null || header.trim() === '' ? undefined : Number(header),
  ].find(isCount)
  if (seconds !== undefined) return Math.min(seconds * 1000, MAX_ASKED_DELAY_MS)
  const until = header === null ? Number.NaN : Date.parse(header) - Date.now()
  return Number.isNaN(until) ? undefined : Math.min(Math.max(until, 0), MAX_ASKED_DELAY_MS)
}

const isCount = (value: unknown): value is number =>
  typeof value === 'number' && Number.isFinite(value) && value >= 0

const isObject = (value: unknown): value is Record<string, unknown> =>
  typeof value === 'object' && value !== null

const listOf = (value: unknown): Record<string, unknown>[] =>
  Array.isArray(value) ? value.filter(isObject) : []

const parseObject = (text: string): Record<string, unknown> => {
  try {
    const value: unknown = JSON.parse(text)
    return isObject(value) ? value : {}
  } catch {
    return {}
  }
}

const reasonOf = (error: unknown): string => {
  if (!(error instanceof Error)) return String(error)
  const cause = error.cause
  if (cause instanceof Error) return 'code' in cause ? String(cause.code) : cause.message
  return error.message
}
