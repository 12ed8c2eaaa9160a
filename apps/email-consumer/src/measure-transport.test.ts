import { Registry } from 'prom-client'
import { describe, expect, it } from 'vitest'
import { measureTransport } from './measure-transport.ts'
import type { HandOver, MailTransport } from './transport.ts'

const MAIL = { id: 'a', envelope: { from: 'a@shop.example', to: 'b@example.com' }, raw: Buffer.from('') }

describe('measureTransport', () => {
  const transport = (send: MailTransport['send']): MailTransport => ({ send, close: async () => {} })
  /** The number of attempts by outcome. */
  const countsOf = async (metrics: Registry): Promise<Record<string, number>> => {
    const { values } = (await metrics.getMetricsAsJSON())[0] as unknown as {
      values: { metricName: string; labels: { outcome: string }; value: number }[]
    }
    return Object.fromEntries(
      values
        .filter(({ metricName }) => metricName.endsWith('_count'))
        .map(({ labels, value }) => [labels.outcome, value]),
    )
  }

  it('counts attempts by what the mail server did, from 0', async () => {
    const metrics = new Registry()
    const answers: HandOver[] = [
      { kind: 'accepted', response: '250 OK' },
      { kind: 'refused', permanent: true, reason: '550' },
      { kind: 'refused', permanent: false, reason: 'ECONNREFUSED' },
      { kind: 'refused', permanent: false, reason: '451' },
    ]
    const left = [...answers]
    const measured = measureTransport(
      transport(async () => left.shift() as HandOver),
      metrics,
    )
    expect(await countsOf(metrics)).toEqual({ accepted: 0, refused: 0, deferred: 0, unknown: 0 })
    for (const answer of answers) expect(await measured.send(MAIL, async () => {})).toEqual(answer)
    expect(await countsOf(metrics)).toEqual({ accepted: 1, refused: 1, deferred: 2, unknown: 0 })
  })

  it('does not count what was not sent', async () => {
    const metrics = new Registry()
    const measured = measureTransport(
      transport(async (_mail, begin) => {
        await begin()
        return { kind: 'accepted', response: '250 OK' }
      }),
      metrics,
    )
    const begin = () => Promise.reject(new Error('claimed by another process'))
    await expect(measured.send(MAIL, begin)).rejects.toThrow('claimed by another process')
    expect(await countsOf(metrics)).toEqual({ accepted: 0, refused: 0, deferred: 0, unknown: 0 })
  })
})
