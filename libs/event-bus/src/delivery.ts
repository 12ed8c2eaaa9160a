import { setTimeout as sleep } from 'node:timers/promises'
import type { Log } from '@waymark/contracts/log'
import type { DeadLetter } from '@waymark/contracts/records/quarantine-records'
import { deadLetters } from '@waymark/contracts/topics'
import { traceHeadersOf, traceIdOf } from '@waymark/contracts/trace-context'
import { BusUnavailableError, type Delivery, type EventBus, type Subscription } from './port.ts'

/** A record as an adapter reads it, before decoding. */
export type RawRecord = {
  partition: number
  offset: bigint
  key: string | null
  value: Buffer
  headers: Record<string, string>
}

/** Processes records of one partition. Their offset may be committed once it resolves. */
export type Deliver = (records: readonly RawRecord[], signal: AbortSignal) => Promise<void>

const MAX_DELAY_MS = 5_000
/** Attempts before a record that makes a handler fail for an unknown reason becomes a dead letter. */
const ATTEMPTS_ON_BUG = 8
/** Most records of one call of a handler, unless its subscription sets another limit. */
export const DEFAULT_BATCH_RECORDS = 500

// A dead letter must fit into the 4 MiB of its topic, or its partition would be blocked forever. Base64 adds a third,
// and a character takes up to six bytes in JSON.
const MAX_LETTER_BYTES = 2_800_000
const MAX_LETTER_KEY = 10_000
const MAX_LETTER_HEADERS = 50_000

/**
 * Classifies an error of a handler: `transient` when a dependency is unavailable and the same records may succeed later,
 * `data` when a store refuses the records themselves.
 */
export type ClassifyError = (error: unknown) => 'transient' | 'data' | 'unknown'

export type DeliveryDeps = {
  publishDeadLetters: (letters: DeadLetter[]) => Promise<void>
  log: Log
  classifyError: ClassifyError
}

/** Publishes dead letters on a bus. Those with the same key keep their order. */
export const deadLettersTo =
  (bus: Pick<EventBus, 'publish'>): DeliveryDeps['publishDeadLetters'] =>
  (letters) =>
    bus.publish(
      deadLetters,
      letters.map((value) => {
        const headers = traceHeadersOf(value.headers)
        return { key: value.key ?? value.topic, value, ...(headers && { headers }) }
      }),
    )

/**
 * Wraps the handler of a subscription with what all adapters share: decoding, retries with back-off, bisection of a
 * batch to find a bad record, and dead letters. Rejects only when `signal` aborts a retry.
 */
export const createDelivery = <T>(
  subscription: Subscription<T>,
  { publishDeadLetters, log, classifyError }: DeliveryDeps,
): Deliver => {
  const { group, topic, handle } = subscription

  const letterFor = (record: RawRecord, reason: string): DeadLetter => ({
    v: 1,
    group,
    topic: topic.name,
    partition: record.partition,
    offset: record.offset.toString(),
    key: record.key && storable(record.key.slice(0, MAX_LETTER_KEY)),
    value: record.value.subarray(0, MAX_LETTER_BYTES).toString('base64'),
    headers: storableHeaders(record.headers),
    reason: storable(
      record.value.length > MAX_LETTER_BYTES
        ? `${reason} (only the first ${MAX_LETTER_BYTES} of ${record.value.length} bytes are kept)`
        : reason,
    ),
    failedAt: new Date().toISOString(),
  })

  type Decoded = { record: RawRecord; delivery: Delivery<T> }

  const decode = (record: RawRecord): Decoded | { record: RawRecord; reason: string } => {
    try {
      const value: unknown = JSON.parse(record.value.toString('utf8'))
      if (topic.validator.fits(value)) {
        const { partition, offset, key, headers } = record
        return { record, delivery: { topic: topic.name, partition, offset, key, value, headers } }
      }
      const problem = topic.validator.check(value)
      return { record, reason: `does not fit the topic's schema: ${problem?.field} ${problem?.message}` }
    } catch {
      return { record, reason: 'is not JSON' }
    }
  }

  const handleOnce = async (batch: Decoded[], signal: AbortSignal): Promise<DeadLetter[]> => {
    const outcomes =
      (await handle(
        batch.map(({ delivery }) => delivery),
        signal,
      )) ?? []
    return batch.flatMap(({ record }, index) => {
      const outcome = outcomes[index]
      if (outcome?.kind === 'drop')
        log.warn(
          { group, ...traceOf(record), reason: outcome.reason, offset: `${record.offset}` },
          'Record dropped',
        )
      return outcome?.kind === 'dead' ? [letterFor(record, outcome.reason)] : []
    })
  }

  const handleAll = async (
    batch: Decoded[],
    signal: AbortSignal,
    attempts: number,
  ): Promise<DeadLetter[]> => {
    for (let attempt = 1; ; attempt++) {
      try {
        return await handleOnce(batch, signal)
      } catch (error) {
        signal.throwIfAborted()
        const kind = classifyError(error)
        const isRecordBad = kind === 'data' || (kind === 'unknown' && isBug(error) && attempt >= attempts)
        if (!isRecordBad) {
          const trace = traceOf(batch[0]?.record)
          log.warn(
            { group, topic: topic.name, ...trace, attempt, err: error },
            'Handling a record failed; retrying',
          )
          await backOff(attempt, signal)
          continue
        }
        const [only, ...others] = batch
        if (only && others.length === 0) return [letterFor(only.record, reasonOf(error, kind))]
        const middle = Math.ceil(batch.length / 2)
        return [
          ...(await handleAll(batch.slice(0, middle), signal, 2)),
          ...(await handleAll(batch.slice(middle), signal, 2)),
        ]
      }
    }
  }

  const publishLetters = async (letters: DeadLetter[], signal: AbortSignal): Promise<void> => {
    for (const letter of letters) {
      const { partition, offset, reason } = letter
      log.error(
        { group, topic: topic.name, ...traceOf(letter), partition, offset, reason },
        'Record moved to the dead letters',
      )
    }
    for (let attempt = 1; letters.length > 0; attempt++) {
      try {
        return await publishDeadLetters(letters)
      } catch (error) {
        log.warn({ group, attempt, err: error }, 'Dead letters could not be published; retrying')
        await backOff(attempt, signal)
      }
    }
  }

  return async (records, signal) => {
    const size = subscription.maxBatchRecords ?? DEFAULT_BATCH_RECORDS
    for (let start = 0; start < records.length; start += size) {
      const decoded = records.slice(start, start + size).map(decode)
      const batch = decoded.filter((entry) => 'delivery' in entry)
      const letters = decoded.flatMap((entry) =>
        'reason' in entry ? [letterFor(entry.record, entry.reason)] : [],
      )
      if (batch.length > 0) letters.push(...(await handleAll(batch, signal, ATTEMPTS_ON_BUG)))
      await publishLetters(letters, signal)
    }
  }
}

const traceOf = (record: Pick<RawRecord, 'headers'> | undefined): { traceId?: string } => {
  const traceId = record && traceIdOf(record.headers)
  return traceId === undefined ? {} : { traceId }
}

// Errors of a dependency have a code, also those about a wrong password or a missing table. They are retried, because
// otherwise all records would become dead letters.
const isBug = (error: unknown): boolean =>
  !(error instanceof BusUnavailableError) && (error as { code?: unknown } | null)?.code === undefined

/** Waits before attempt `attempt + 1`: 100 ms doubling up to 5 s, with jitter. Rejects when `signal` aborts. */
export const backOff = (attempt: number, signal: AbortSignal): Promise<void> => {
  const delay = Math.min(MAX_DELAY_MS, 100 * 2 ** (attempt - 1))
  return sleep(delay * (0.5 + Math.random() / 2), undefined, { signal })
}

// PostgreSQL does not store U+0000, and a dead letter that cannot be stored would become another dead letter.
const storable = (text: string): string => text.toWellFormed().replaceAll('\0', '\uFFFD')

/** The first headers, up to `MAX_LETTER_HEADERS` characters. */
const storableHeaders = (headers: RawRecord['headers']): RawRecord['headers'] => {
  let characters = 0
  const kept = Object.entries(headers).filter(([name, value]) => {
    characters += name.length + value.length
    return characters <= MAX_LETTER_HEADERS
  })
  return Object.fromEntries(kept.map(([name, value]) => [storable(name), storable(value)]))
}

// Without the message of a database error, which may contain personal data.
const reasonOf = (error: unknown, kind: ReturnType<ClassifyError>): string => {
  const { name, code, message } = error as { name?: string; code?: string; message?: string }
  return kind === 'data'
    ? `the store refused it: SQLSTATE ${code}`
    : `${name ?? 'Error'}: ${message ?? ''}`.slice(0, 500)
}
