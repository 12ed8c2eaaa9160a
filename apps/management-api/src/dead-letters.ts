import { listDeadLetters, replayDeadLetter, topics } from '@waymark/contracts'
import type { Prisma } from '@waymark/database'
import type { Platform, Route } from '@waymark/service-kit'
import type { ProjectRouteFactory } from './project-route.ts'
import { publishOrRefuse } from './rejected-events.ts'
import { requireFound, unprocessable } from './validation.ts'

type Letter = Prisma.DeadLetterGetPayload<object>
type Place = { consumerGroup: string; topic: string; partition: number; offset: bigint }
type Deps = Pick<Platform, 'db' | 'bus' | 'clock'> & { projectRoute: ProjectRouteFactory }

const MAX_INT = 2 ** 31 - 1
const PLACE = /^([^\n]+)\n([^\n]+)\n(\d{1,10})\n(\d{1,18})$/

/** Records of a project that a consumer could not process, and sending them once more. */
export const deadLetterRoutes = ({ projectRoute, db, bus, clock }: Deps): Route[] => [
  projectRoute(listDeadLetters, async ({ projectId, query }) => {
    const { limit } = query
    const after = query.cursor === undefined ? undefined : parsePlace(query.cursor)
    if (query.cursor !== undefined && !after)
      throw unprocessable('cursor', 'format', 'is not a cursor of this list')
    const found = await db.prisma.deadLetter.findMany({
      where: { projectId },
      orderBy: [
        { failedAt: 'desc' },
        { consumerGroup: 'asc' },
        { topic: 'asc' },
        { partition: 'asc' },
        { offset: 'desc' },
      ],
      take: limit + 1,
      ...(after && { cursor: { consumerGroup_topic_partition_offset: after }, skip: 1 }),
    })
    const page = found.slice(0, limit)
    const last = page.at(-1)
    return { body: { data: page.map(view), nextCursor: found.length > limit && last ? idOf(last) : null } }
  }),
  projectRoute(replayDeadLetter, async ({ projectId, id }) => {
    const place = requireFound(parsePlace(id))
    const where = { consumerGroup_topic_partition_offset: place }
    const letter = requireFound(await db.prisma.deadLetter.findFirst({ where: { projectId, ...place } }))
    const topic = topics.find(({ name }) => name === letter.topic)
    const value = parsed(letter.value)
    if (!topic?.validator.fits(value)) {
      throw unprocessable('value', 'schema', 'the record does not fit its topic and would fail again')
    }
    // Every group reads it again; those that had processed it drop the repeat.
    await publishOrRefuse(bus.publish(topic, [{ key: letter.key ?? projectId, value }]))
    const replayedAt = new Date(clock())
    return { status: 202, body: view(await db.prisma.deadLetter.update({ where, data: { replayedAt } })) }
  }),
]

const idOf = ({ consumerGroup, topic, partition, offset }: Letter): string =>
  Buffer.from([consumerGroup, topic, partition, offset].join('\n')).toString('base64url')

const parsePlace = (id: unknown): Place | undefined => {
  const text = typeof id === 'string' ? Buffer.from(id, 'base64url').toString('utf8') : ''
  const [, consumerGroup, topic, partition, offset] = PLACE.exec(text) ?? []
  if (!consumerGroup || !topic || Number(partition) > MAX_INT || text.includes('\0')) return undefined
  return { consumerGroup, topic, partition: Number(partition), offset: BigInt(offset ?? 0) }
}

const parsed = (value: Uint8Array): unknown => {
  try {
    return JSON.parse(Buffer.from(value).toString('utf8'))
  } catch {
    return undefined
  }
}

const view = (letter: Letter) => {
  const { projectId: _projectId, consumerGroup, offset, value, ...rest } = letter
  return {
    id: idOf(letter),
    group: consumerGroup,
    offset: offset.toString(),
    value: Buffer.from(value).toString('utf8'),
    ...rest,
  }
}
