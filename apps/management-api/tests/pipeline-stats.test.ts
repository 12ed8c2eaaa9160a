import { MAX_COUNTED_FAILURES, type PipelineStatsView } from '@waymark/contracts/http/pipeline-stats'
import { consumerGroups } from '@waymark/contracts/topics'
import { BusUnavailableError } from '@waymark/event-bus'
import { services } from '@waymark/testing'
import { afterAll, beforeAll, describe, expect, it, onTestFinished, vi } from 'vitest'
import { type Management, startManagement } from './start-management.ts'

const REJECTED = `
  INSERT INTO ingest.rejected_events (id, project_id, event_id, event_name, record, errors, rejected_at, replayed_at)
  SELECT gen_random_uuid(), $1, 'e' || n, 'seen', '{}', '[]', now(), $3 FROM generate_series(1, $2) AS n`
const DEAD = `
  INSERT INTO ingest.dead_letters (project_id, consumer_group, topic, "partition", "offset", value, reason, failed_at, replayed_at)
  SELECT $1::uuid, 'persistence' || $1, 'events.enriched.v1', 0, n, '', 'odd', now(), CASE WHEN n > $2 THEN now() END
  FROM generate_series(1, $2 + 1) AS n`

describe.skipIf(!services)('the state of the pipeline', () => {
  let management: Management
  beforeAll(async () => {
    management = await startManagement()
  })
  afterAll(() => management?.stop())

  const owner = async () => {
    const user = await management.register()
    const projectId = user.account.projects[0]?.id ?? ''
    const read = async (): Promise<PipelineStatsView> => {
      const response = await user.request('GET', `/api/projects/${projectId}/stats/pipeline`)
      expect(response.status).toBe(200)
      return (await response.json()) as PipelineStatsView
    }
    return { projectId, read }
  }

  it('answers the lag of every group and the outbox, and only the failures of the project', async () => {
    const { pool } = management.db
    await pool.query(
      `INSERT INTO ingest.outbox (lane, topic, key, value, created_at)
       SELECT 'spool', 'ingest.records.v1', 'k', '{}', now() - interval '1 minute' FROM generate_series(1, 3)`,
    )
    await pool.query(
      `INSERT INTO bus.log_offsets (consumer_group, topic, "partition", next) VALUES ('email', 'events.enriched.v1', 0, 2)`,
    )
    const mine = await owner()
    const other = await owner()
    await pool.query(REJECTED, [mine.projectId, 2, null])
    await pool.query(REJECTED, [mine.projectId, 4, new Date()])
    await pool.query(DEAD, [mine.projectId, 3])

    // Signing up is in the audit log, which goes through the outbox.
    await pool.query(`DELETE FROM ingest.outbox WHERE lane <> 'spool'`)
    const { outbox, ...rest } = await mine.read()
    expect(rest).toEqual({
      consumerGroups: Object.values(consumerGroups).map(({ group, topic }) => ({
        group,
        topic: topic.name,
        lag: 0,
      })),
      rejectedEvents: 2,
      deadLetters: 3,
    })
    expect(outbox.records).toBe(3)
    expect(outbox.oldestSeconds).toBeGreaterThanOrEqual(60)
    expect(await other.read()).toMatchObject({ rejectedEvents: 0, deadLetters: 0 })
  })

  it.each([
    ['at', MAX_COUNTED_FAILURES],
    ['one past', MAX_COUNTED_FAILURES + 1],
  ])('counts failures %s the limit as the limit', async (_, count) => {
    const { projectId, read } = await owner()
    await management.db.pool.query(REJECTED, [projectId, count, null])
    await management.db.pool.query(DEAD, [projectId, count])
    expect(await read()).toMatchObject({
      rejectedEvents: MAX_COUNTED_FAILURES,
      deadLetters: MAX_COUNTED_FAILURES,
    })
  })

  it('reads the lag once for all projects, and answers without it when the queue does not', async () => {
    const readLag = vi.spyOn(management.platform.bus, 'readLag')
    const [one, two] = await Promise.all([owner(), owner()])
    readLag.mockRejectedValue(new BusUnavailableError('Kafka did not answer'))
    await expect.poll(async () => (await one.read()).consumerGroups).toBeNull()
    readLag.mockClear()
    // Otherwise a busy machine could take longer for the requests than a reading is shared.
    vi.useFakeTimers({ toFake: ['performance'] })
    onTestFinished(() => void vi.useRealTimers())
    const answers = await Promise.all([one.read(), two.read(), one.read()])
    expect(answers.map(({ consumerGroups: groups }) => groups)).toEqual([null, null, null])
    expect(readLag.mock.calls.length).toBeLessThanOrEqual(1)
    vi.useRealTimers()
    readLag.mockRestore()
    await expect.poll(async () => (await one.read()).consumerGroups).not.toBeNull()
  })
})
