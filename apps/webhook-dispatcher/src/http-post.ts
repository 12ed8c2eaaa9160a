import type { IncomingMessage } from 'node:http'
import { MAX_WEBHOOK_RESPONSE_BYTES } from '@waymark/contracts/webhook'
import { createGuardedRequests, RefusedAddressError, type ResolveHost } from '@waymark/service-kit'

type HttpPostOptions = {
  allowPrivateAddresses: boolean
  /** From the look-up of the name to the end of the answer, in ms. */
  timeoutMs: number
  resolveHost?: ResolveHost
}

export type OutgoingPost = { url: string; headers: Record<string, string>; body: string }

/** What an endpoint answered, with the beginning of its body, or why it did not. */
export type PostOutcome =
  | { kind: 'answered'; status: number; body: string; retryAfter: string | undefined }
  | { kind: 'unanswered'; error: string }

/** Posts to endpoints that projects name, which must have public addresses unless private ones are allowed. */
export const createHttpPost = ({ timeoutMs, ...guard }: HttpPostOptions) => {
  const requests = createGuardedRequests(guard)
  const post = async (outgoing: OutgoingPost): Promise<PostOutcome> => {
    const signal = AbortSignal.timeout(timeoutMs)
    try {
      const response = await requests.send({ ...outgoing, method: 'POST', signal })
      const { statusCode: status = 0, headers } = response
      const body = await readStart(response)
      return { kind: 'answered', status, body, retryAfter: headers['retry-after'] }
    } catch (error) {
      if (signal.aborted) return { kind: 'unanswered', error: `no answer within ${timeoutMs / 1_000} s` }
      return { kind: 'unanswered', error: reasonOf(error) }
    }
  }

  return {
    /** Sends a request once. Never rejects. */
    post,
    /** Closes idle connections. */
    close: requests.close,
  }
}

export type HttpPost = ReturnType<typeof createHttpPost>

/** The first bytes of a body as text. An answer that breaks off, or does not end in time, counts as far as it came. */
const readStart = async (response: IncomingMessage): Promise<string> => {
  const chunks: Buffer[] = []
  let bytes = 0
  try {
    for await (const chunk of response) {
      chunks.push(chunk)
      bytes += chunk.length
      // Ends the connection, so that an endless body is not read.
      if (bytes > MAX_WEBHOOK_RESPONSE_BYTES) break
    }
  } catch {}
  const start = Buffer.concat(chunks).subarray(0, MAX_WEBHOOK_RESPONSE_BYTES)
  // As a stream, so that a character that is cut in two is left out. PostgreSQL refuses U+0000.
  return new TextDecoder().decode(start, { stream: true }).replaceAll('\0', '\uFFFD')
}

const reasonOf = (error: unknown): string => {
  if (error instanceof RefusedAddressError) return error.message
  const { code } = error as { code?: unknown }
  return typeof code === 'string' ? `the connection failed: ${code}` : 'the connection failed'
}
