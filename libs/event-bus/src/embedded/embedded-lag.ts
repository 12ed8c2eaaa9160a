import type { ConsumerGroup } from '@waymark/contracts'
import type { Pool } from 'pg'
import { BusUnavailableError, type GroupLag } from '../port.ts'
import type { Appender } from './appender.ts'

// From the oldest record that is kept, because retention may have deleted records that a group has not read.
const LAG = `
  SELECT asked.place::int AS place, sum(asked."end" - oldest."offset")::float8 AS records
  FROM unnest($1::int[], $2::text[], $3::text[], $4::int[], $5::bigint[])
    AS asked (place, consumer_group, topic, "partition", "end")
  LEFT JOIN bus.log_offsets USING (consumer_group, topic, "partition")
  CROSS JOIN LATERAL (
    SELECT "offset" FROM bus.log
    WHERE log.topic = asked.topic AND log."partition" = asked."partition"
      AND log."offset" >= coalesce(log_offsets.next, 0) AND log."offset" < asked."end"
    ORDER BY "offset" LIMIT 1
  ) AS oldest
  GROUP BY asked.place`

/** Returns a function that reads the lag of groups from the embedded log. */
export const createReadEmbeddedLag =
  (pool: Pool, appender: Pick<Appender, 'ends'>) =>
  async (groups: readonly ConsumerGroup[]): Promise<GroupLag[]> => {
    const ends = appender.ends()
    const asked = groups.flatMap(({ group, topic: { name } }, place) =>
      ends.filter(({ topic }) => topic === name).map((end) => ({ ...end, group, place })),
    )
    const { rows } = await pool
      .query<{ place: number; records: number }>(LAG, [
        asked.map(({ place }) => place),
        asked.map(({ group }) => group),
        asked.map(({ topic }) => topic),
        asked.map(({ partition }) => partition),
        asked.map(({ end }) => end.toString()),
      ])
      .catch((error) => {
        throw new BusUnavailableError('the lag could not be read from the log', { cause: error })
      })
    const records = new Map(rows.map((row) => [row.place, row.records]))
    return groups.map(({ group, topic }, place) => ({
      group,
      topic: topic.name,
      records: records.get(place) ?? 0,
    }))
  }
