import type { Log } from '@waymark/contracts/log'
import { parseRfc3339 } from '@waymark/contracts/rfc3339'
import { type ConsumerGroup, consumerGroups } from '@waymark/contracts/topics'
import { type KafkaOptions, type MovedGroup, moveKafkaGroups } from '@waymark/event-bus'
import { ConfigError } from '@waymark/service-kit'

const ALL: readonly ConsumerGroup[] = Object.values(consumerGroups)

/** The groups that store records. Each stores a repeated record once. */
const STORING = ALL.filter(({ group }) => group === 'enrichment' || group.startsWith('persistence'))

/**
 * Lets the groups that store records read everything since a time again.
 * @param to RFC 3339
 * @throws ConfigError when `to` is not a time of the past; an error when a group has members
 */
export const rewindGroups = (kafka: KafkaOptions, to: string, log: Log): Promise<MovedGroup[]> => {
  const time = parseRfc3339(to)
  if (time === undefined || time > Date.now())
    throw new ConfigError(['REWIND_TO must be a time of the past, such as 2026-11-22T02:00:00Z'])
  return moveKafkaGroups(kafka, STORING, new Date(time), log)
}

/**
 * Lets groups leave out the records that wait for them.
 * @throws ConfigError for an unknown group; an error when a group has members
 */
export const skipRecords = (
  kafka: KafkaOptions,
  names: readonly string[],
  log: Log,
): Promise<MovedGroup[]> => {
  const unknown = names.filter((name) => !ALL.some(({ group }) => group === name))
  if (unknown.length > 0)
    throw new ConfigError([`SKIP_GROUPS must be some of ${ALL.map(({ group }) => group).join(', ')}`])
  return moveKafkaGroups(
    kafka,
    ALL.filter(({ group }) => names.includes(group)),
    'end',
    log,
  )
}
