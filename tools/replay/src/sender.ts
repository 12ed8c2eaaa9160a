import { setTimeout as delay } from 'node:timers/promises'

/** An event ready to be sent, with the line it came from. */
export type Outgoing = { line: number; json: string }

/** The body of one request, and the line of each event in it. */
export type Batch = { lines: number[]; body: string }

/** Where to send: the address of a running Waymark and an API key with the scope `events:write`. */
export type Target = { url: string; key: string }

/** Numbers of answered events. */
export type Totals = { sent: number; accepted: number; failed: number }

/** Why the server did not accept the event of a line. */
export type Failure = { line: number; reason: string }

export type SenderOptions = {
  /** Called at the start and before each retry, since a restarted server may have another address. */
  target: () => Promise<Target>
  concurrency?: number
  /** Uses the synchronous path: slower, but the response proves that the events are stored. */
  sync?: boolean
  timeoutMs?: number
  signal?: AbortSignal
  sleep?: (ms: number, signal: AbortSignal) => Promise<void>
  onProgress?: (totals: Totals) => void
  /** Called with a reason while the server cannot accept events, and with undefined when it can again. */
  onWaiting?: (reason: string | undefined) => void
  onFailure?: (failure: Failure) => void
}

/** The server refuses all requests, so that a retry is useless. */
export type Refusal = Error & { name: 'Refusal' }

type Answer =
  | { kind: 'counted'; accepted: number; failures: { index: number; reason: string }[] }
  | { kind: 'retry'; reason: string; waitMs: number | undefined }
  | { kind: 'refused'; reason: string }

const MAX_EVENTS = 100
// Below the server's limit of 1 MiB, which a hundred of the longest events exceed.
const MAX_BODY_BYTES = 1_000_000
const FIRST_DELAY_MS = 200
const MAX_DELAY_MS = 5_000
const MAX_ASKED_DELAY_MS = 3_600_000

/** Collects events into bodies of at most 100. Events before an error of the source are still sent. */
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
 * Sends every batch and retries without limit while the server is unavailable. Retries are safe, because each event has
 * an id.
 *
 * @throws Refusal when the server refuses the key or the requests as such; the signal's reason when aborted
 */
export const sendBatches = async (batches: AsyncIterable<Batch>, options: SenderOptions): Promise<Totals> => {
  const { concurrency = 2, sync = false, timeoutMs = 10_000, sleep = abortableDelay } = options
  const stop = new AbortController()
  const signal = options.signal ? AbortSignal.any([stop.signal, options.signal]) : stop.signal
  const totals: Totals = { sent: 0, accepted: 0, failed: 0 }
  let target = await options.target()

  const deliver = async (batch: Batch): Promise<void> => {
    for (let attempt = 0; ; attempt += 1) {
      signal.throwIfAborted()
      const used = target
      const answer = await post(used, batch, { sync, timeoutMs, signal })
      if (answer.kind === 'counted') {
        options.onWaiting?.(undefined)
        return count(batch, answer)
      }
      if (answer.kind === 'refused') {
        // A restarted server may have a new key and a new address.
        target = await options.target()
        if (target.url !== used.url || target.key !== used.key) continue
        throw refusal(answer.reason)
      }
      options.onWaiting?.(answer.reason)
      const backOff = Math.min(MAX_DELAY_MS, FIRST_DELAY_MS * 2 ** attempt)
      await sleep(Math.max(answer.waitMs ?? backOff, FIRST_DELAY_MS), signal)
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
  // A read error does not stop earlier batches; a refusal stops everything.
  const worker = () =>
    work().catch((error: unknown) => {
      if (isRefusal(error)) stop.abort(error)
      throw error
    })
  // Raced, because a worker may wait for a source without data, such as a terminal.
  const stopped = new Promise<never>((_resolve, reject) => {
    const onStop = () => reject(signal.reason)
    if (signal.aborted) onStop()
    signal.addEventListener('abort', onStop, { once: true })
  })
  const all = Promise.allSettled(Array.from({ length: concurrency }, worker))
  const ends = await Promise.race([all, stopped])
  const broken = ends.find((end) => end.status === 'rejected')
  if (broken) throw broken.reason
  return totals
}

/** Whether an error is a refusal of all requests, such as for a wrong key. */
export const isRefusal = (error: unknown): error is Refusal =>
  error instanceof Error && error.name === 'Refusal'

const refusal = (message: string): Refusal => Object.assign(new Error(message), { name: 'Refusal' as const })

const abortableDelay = async (ms: number, signal: AbortSignal): Promise<void> => {
  await delay(ms, undefined, { signal })
}

type PostOptions = { sync: boolean; timeoutMs: number; signal: AbortSignal }

const post = async (target: Target, batch: Batch, options: PostOptions): Promise<Answer> => {
  // Outside of `try`, because an invalid address or key must not be retried.
  const url = new URL('api/v1/t', target.url.replace(/\/*$/, '/'))
  if (options.sync) url.searchParams.set('sync', '1')
  const headers = new Headers({ 'X-API-Key': target.key, 'Content-Type': 'application/json' })
  const deadline = AbortSignal.timeout(options.timeoutMs)
  try {
    const response = await fetch(url, {
      method: 'POST',
      headers,
      body: batch.body,
      redirect: 'manual',
      signal: AbortSignal.any([options.signal, deadline]),
    })
    return readAnswer(response, await response.text(), batch.lines.length)
  } catch (error) {
    options.signal.throwIfAborted()
    const reason = deadline.aborted ? `no answer within ${options.timeoutMs / 1000} s` : reasonOf(error)
    return { kind: 'retry', reason: `${url.host}: ${reason}`, waitMs: undefined }
  }
}

const readAnswer = (response: Response, text: string, size: number): Answer => {
  const { status } = response
  const body = parseObject(text)
  const said = typeof body.error === 'string' ? `${status} ${body.error}` : `status ${status}`
  if (status === 429 || status === 408 || status >= 500) {
    const asked = askedDelayMs(body, response.headers.get('retry-after'))
    // Rate limits report their exact end; an unavailable dependency is often back sooner than reported.
    const waitMs = asked === undefined || status === 429 ? asked : Math.min(asked, MAX_DELAY_MS)
    return { kind: 'retry', reason: `the server answered ${said}`, waitMs }
  }
  if (response.ok && isCount(body.accepted)) {
    const accepted = Math.min(body.accepted, size)
    return { kind: 'counted', accepted, failures: listFailures(body, size - accepted) }
  }
  const failures = listFailures(body, size)
  // The server read the batch and accepted no event.
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
  // On the synchronous path `errors` may include warnings of accepted events, which cannot be distinguished.
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
