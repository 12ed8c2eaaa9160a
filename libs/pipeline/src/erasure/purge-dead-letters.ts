import { parseJson } from '@waymark/domain'
import type { ClientBase } from 'pg'
import { type AboutPeople, aboutAnything } from './erased-records.ts'
import type { ErasureJob } from './erasure-job.ts'

const ROWS = 200
// By the column itself: its name alone would mean the text that is selected.
const PAGE = `
  SELECT consumer_group, topic, "partition", "offset"::text AS "offset", value FROM ingest.dead_letters
  WHERE project_id = $1 AND (consumer_group, topic, "partition", "offset") > ($2, $3, $4::int, $5::bigint)
  ORDER BY consumer_group, topic, "partition", dead_letters."offset" LIMIT ${ROWS}`
const DELETE = `
  DELETE FROM ingest.dead_letters
  WHERE consumer_group = $1 AND topic = $2 AND "partition" = $3 AND "offset" = $4::bigint`

type Row = { consumer_group: string; topic: string; partition: number; offset: string; value: Buffer }

/**
 * Erases the dead letters about a person, all of them. They may be anything, so each is read; one that cannot be made out
 * stays, as nobody can say whose it is.
 */
export const purgeDeadLetters = async (
  _deps: unknown,
  client: ClientBase,
  job: ErasureJob,
): Promise<number> => {
  let purged = 0
  for (let last: Omit<Row, 'value'> = { consumer_group: '', topic: '', partition: -1, offset: '-1' }; ; ) {
    const { consumer_group, topic, partition, offset } = last
    const { rows } = await client.query<Row>(PAGE, [job.projectId, consumer_group, topic, partition, offset])
    for (const row of rows) {
      if (!isAbout(job, aboutAnything(parsed(row.value)))) continue
      await client.query(DELETE, [row.consumer_group, row.topic, row.partition, row.offset])
      purged++
    }
    const end = rows.at(-1)
    if (rows.length < ROWS || !end) return purged
    last = end
  }
}

const isAbout = ({ visitorIds, userIds, erasedAt }: ErasureJob, about: AboutPeople | undefined): boolean =>
  about !== undefined &&
  Date.parse(about.receivedAt) <= erasedAt.getTime() &&
  about.people.some(({ kind, value }) => (kind === 'user' ? userIds : visitorIds).includes(value))

const parsed = (value: Buffer): unknown => {
  try {
    return parseJson(value.toString('utf8'))
  } catch {
    return undefined
  }
}
