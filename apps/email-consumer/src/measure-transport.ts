import { Histogram, type Registry } from 'prom-client'
import type { HandOver, MailTransport } from './transport.ts'

const OUTCOMES = ['accepted', 'refused', 'deferred', 'unknown'] as const

/** A refusal that a retry may change is a deferral. */
const outcomeOf = (handOver: HandOver): (typeof OUTCOMES)[number] =>
  handOver.kind === 'refused' && !handOver.permanent ? 'deferred' : handOver.kind

/** Measures the attempts of a transport. One that `begin` ended does not count, because nothing was sent. */
export const measureTransport = (transport: MailTransport, metrics: Registry): MailTransport => {
  const attempts = new Histogram({
    name: 'waymark_email_attempt_duration_seconds',
    help: 'Duration of attempts to send an email, by what the mail server did with it',
    labelNames: ['outcome'],
    buckets: [0.05, 0.2, 1, 5, 30],
    registers: [metrics],
  })
  // From the start, because Prometheus sees no increase in the first value of a series.
  for (const outcome of OUTCOMES) attempts.zero({ outcome })
  return {
    ...transport,
    send: async (mail, begin) => {
      const observe = attempts.startTimer()
      const handOver = await transport.send(mail, begin)
      observe({ outcome: outcomeOf(handOver) })
      return handOver
    },
  }
}
