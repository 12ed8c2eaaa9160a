import type { ConsumerGroup } from '@waymark/contracts/topics'
import type { Pool } from 'pg'
import { BusUnavailableError, type GroupLag } from '../port.ts'
import type { Appender } from './appender.ts'
import { readPositions } from './log-queries.ts'

/** Returns a function that reads the lag of groups from the embedded log. */
export const createReadEmbeddedLag =
  (pool: Pool, appender: Pick<Appender, 'ends'>) =>
  async (groups: readonly ConsumerGroup[]): Promise<GroupLag[]> => {
    const ends = appender.ends()
    const asked = groups.flatMap(({ group, topic: { name } }) =>
      ends.filter(({ topic }) => topic === name).map((end) => ({ ...end, group })),
    )
    const positions = await readPositions(pool, asked).catch((error) => {
      throw new BusUnavailableError('The lag could not be read from the event log', { cause: error })
    })
    return groups.map(({ group, topic }) => {
      const partitions = positions.filter(
        (position) => position.group === group && position.topic === topic.name,
      )
      const records = partitions.reduce((sum, { next, end }) => sum + Number(end - next), 0)
      return { group, topic: topic.name, records, partitions }
    })
  }
