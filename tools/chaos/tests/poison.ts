import { randomBytes } from 'node:crypto'
import { eventually } from '@waymark/testing'
import { expect } from 'vitest'
import { report } from './audit.ts'
import type { Fleet } from './fleet.ts'
import { openKafka } from './kafka-admin.ts'

/** Every consumed topic and its groups. */
const consumed: Record<string, string[]> = {
  'ingest.records.v1': ['enrichment'],
  'ingest.rejected.v1': ['persistence-rejected'],
  'events.enriched.v1': ['persistence', 'email', 'webhooks'],
  'coupons.redeemed.v1': ['webhooks-redemptions'],
  'gift-cards.moved.v1': ['webhooks-gift-cards'],
  'links.clicked.v1': ['persistence-clicks', 'webhooks-clicks'],
  'decisions.exposed.v1': ['persistence-exposures'],
  'profiles.changed.v1': ['persistence-profiles'],
  'decisions.changed.v1': ['webhooks-decisions'],
  'emails.sent.v1': ['webhooks-emails'],
  'alerts.changed.v1': ['webhooks-alerts'],
  'audit.recorded.v1': ['webhooks-audit'],
  'dead-letters.v1': ['persistence-dead-letters'],
}

const poisons: Record<string, { value: Buffer | null; reason: RegExp; only?: string }> = {
  'not JSON': { value: Buffer.from('{"v":1,'), reason: /is not JSON/ },
  'no bytes': { value: Buffer.alloc(0), reason: /is not JSON/ },
  'no value': { value: null, reason: /is not JSON/ },
  'bytes that are no text': { value: Buffer.from([0xff, 0xfe, 0x00, 0x80]), reason: /is not JSON/ },
  'a wrong shape': { value: Buffer.from('{"v":1,"kind":"event"}'), reason: /schema/ },
  'not an object': { value: Buffer.from('null'), reason: /schema/ },
  'an unknown version': { value: Buffer.from('{"v":99,"kind":"event"}'), reason: /schema/ },
  '1 MB of nonsense': { value: randomBytes(1_000_000), reason: /is not JSON/ },
  '1 MB of JSON': {
    value: Buffer.from(JSON.stringify({ v: 1, text: 'x'.repeat(1_000_000) })),
    reason: /schema/,
  },
  'JSON that is nested 100,000 times': {
    value: Buffer.from('['.repeat(100_000) + ']'.repeat(100_000)),
    reason: /schema|is not JSON/,
  },
  // Its dead letter would exceed the broker's limit.
  '4 MB of nonsense': { value: randomBytes(4_100_000), reason: /is not JSON/, only: 'dead-letters.v1' },
}

/**
 * Writes invalid records of these kinds (default: all) to the first `partitions` of every topic. Returns a function that
 * expects each of them among the dead letters with its reason, and nothing to be blocked.
 */
export const writePoison = async (
  fleet: Fleet,
  { partitions, kinds = Object.keys(poisons) }: { partitions: number; kinds?: readonly string[] },
): Promise<() => Promise<void>> => {
  const kafka = await openKafka(fleet)
  const expected = new Map<string, { poison: string; reason: RegExp }>()
  for (const [topic, groups] of Object.entries(consumed))
    for (const [poison, { value, reason, only }] of Object.entries(poisons))
      for (let partition = 0; partition < partitions; partition++) {
        if (!kinds.includes(poison) || (only !== undefined && only !== topic)) continue
        const key = partition === 0 ? null : `not:a:key\0${poison}`
        const [metadata] = await kafka.produce(topic, [
          { partition, key, value, headers: { odd: '\0', bytes: Buffer.from([0xff]) } },
        ])
        for (const group of groups)
          expected.set(`${group}/${topic}/${partition}/${metadata?.baseOffset}`, { poison, reason })
      }
  const read = async () => {
    const { rows } = await fleet.db.pool.query<{ id: string; reason: string }>(
      `SELECT concat_ws('/', consumer_group, topic, partition, "offset") AS id, reason FROM ingest.dead_letters`,
    )
    return new Map(rows.map(({ id, reason }) => [id, reason]))
  }
  return async () => {
    const missing = async () => {
      const letters = await read()
      return [...expected].filter(([id]) => !letters.has(id)).map(([id, { poison }]) => `${id}: ${poison}`)
    }
    await eventually(
      'every poison is a dead letter',
      async () => (await missing()).length === 0,
      120_000,
    ).catch(() => {})
    const letters = await read()
    const wrong = [...expected].filter(
      ([id, { reason }]) => letters.has(id) && !reason.test(letters.get(id) ?? ''),
    )
    report(`${kinds.length} poisons in ${Object.keys(consumed).length} topics`, {
      'written, for each group': expected.size,
      'dead letters': letters.size,
      missing: (await missing()).length,
      'without the reason': wrong.length,
    })
    expect(await missing()).toEqual([])
    expect(wrong).toEqual([])
    for (const [topic, groups] of Object.entries(consumed))
      for (const group of groups)
        await eventually(`${group} is through`, async () => (await kafka.lag(group, topic)) === 0)
    await kafka.close()
  }
}
