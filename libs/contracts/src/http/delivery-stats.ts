import { type Static, Type } from 'typebox'
import { defineOperation } from './operation.ts'

/** How many days `getDeliveryStats` shows, with today. */
export const DELIVERY_DAYS = 30
/** Maximum of counted samples that wait for their check. */
export const MAX_COUNTED_SAMPLES = 100_000

const count = (description: string) => Type.Integer({ minimum: 0, description })

const outcomes = {
  checked: count('Acknowledged events that were looked up in the stores.'),
  missing: count(
    'Those that the stores lack although the pipeline has processed what was accepted before them.',
  ),
  duplicated: count('Those that are stored more than once.'),
}

const seconds = (share: number) =>
  Type.Number({ description: `${share} % of the events could be read after at most this many seconds.` })

export const DeliveryStatsView = Type.Object({
  oneIn: Type.Integer({
    minimum: 0,
    description: 'One of how many acknowledged events is checked; 0 when none is.',
  }),
  lastDay: Type.Object(
    {
      ...outcomes,
      delay: Type.Unsafe<{ p50: number; p99: number } | null>({
        anyOf: [Type.Object({ p50: seconds(50), p99: seconds(99) }), { type: 'null' }],
        description:
          'The time from the receipt of an event until it was found in the stores, rounded up; null without events.',
      }),
    },
    { description: 'The last 24 hours, by the hour.' },
  ),
  waiting: Type.Object(
    {
      events: Type.Integer({
        minimum: 0,
        maximum: MAX_COUNTED_SAMPLES,
        description: `Sampled events that are in no store yet or are not looked up, counted up to ${MAX_COUNTED_SAMPLES}.`,
      }),
      oldestSeconds: Type.Number({ minimum: 0, description: 'How long ago the oldest was received.' }),
    },
    { description: 'In an outage of a store they wait, and are neither missing nor lost.' },
  ),
  days: Type.Array(Type.Object({ date: Type.String({ format: 'date' }), ...outcomes }), {
    description: `The last ${DELIVERY_DAYS} days (UTC) that have any, the newest first.`,
  }),
})
export type DeliveryStatsView = Static<typeof DeliveryStatsView>

export const getDeliveryStats = defineOperation({
  id: 'getDeliveryStats',
  method: 'get',
  path: '/api/projects/{projectId}/stats/deliveries',
  tag: 'Statistics',
  summary: 'Read whether the stores have what was acknowledged, checked on a sample of all events',
  description:
    'Events that may rightly be in no store are left out: those of projects with an erasure or a dead letter since their receipt, and those that are older than `retentionDays`.',
  access: { by: 'project', role: 'viewer' },
  answers: { 200: { description: 'What the checks have found', schema: DeliveryStatsView } },
})
