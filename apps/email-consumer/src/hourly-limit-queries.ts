import { NOW } from '@waymark/database'
import type { Pool } from 'pg'

export const HOUR_MS = 3_600_000
/** Deliveries that one statement postpones. */
const CHUNK = 5_000

const COUNT = `
  INSERT INTO email.hourly_counts AS c (project_id, hour, sent) VALUES ($1, $2, 1)
  ON CONFLICT (project_id, hour) DO UPDATE SET sent = c.sent + 1 WHERE c.sent < $3`

// Postpones as many to each following hour as its limit allows. The delay does not count towards the age that ends retries.
const PUT_OFF = `
  WITH due AS (
    SELECT id, next_attempt_at FROM email.deliveries
    WHERE project_id = $1 AND status = 'pending' AND next_attempt_at <= ${NOW}
    ORDER BY next_attempt_at LIMIT ${CHUNK} FOR UPDATE SKIP LOCKED
  ), spread AS (
    SELECT id, $2::timestamptz + floor(($5 + row_number() OVER (ORDER BY next_attempt_at, id) - 1) / $3::numeric)
      * interval '1 hour' AS until
    FROM due
  )
  UPDATE email.deliveries d SET next_attempt_at = spread.until, queued_at = spread.until, reason = $4
  FROM spread WHERE d.id = spread.id`

const FORGET = 'DELETE FROM email.hourly_counts WHERE hour < $1'

/** Limits the emails of a project per hour, counted in the database for all processes. */
export const createHourlyLimit = (pool: Pool, { perHour, now }: { perHour: number; now: () => number }) => {
  const hourAt = (time: number): number => Math.floor(time / HOUR_MS) * HOUR_MS
  const reason = `waits for the next hour: the project has sent ${perHour} emails in this one, as set by LIMIT_EMAILS_PER_HOUR`
  return {
    reason,
    /** Counts an email. Resolves to the ms until the next hour when the limit is reached, otherwise undefined. */
    count: async (projectId: string): Promise<number | undefined> => {
      const time = now()
      const hour = hourAt(time)
      const { rowCount } = await pool.query({
        name: 'count-hourly-emails',
        text: COUNT,
        values: [projectId, new Date(hour), perHour],
      })
      return rowCount === 1 ? undefined : hour + HOUR_MS - time
    },
    /** Postpones the due deliveries of a project at its limit, so that other projects do not wait behind them. */
    putOffDue: async (projectId: string): Promise<void> => {
      const next = new Date(hourAt(now()) + HOUR_MS)
      for (let putOff = 0; ; putOff += CHUNK) {
        const { rowCount } = await pool.query({
          name: 'put-off-deliveries',
          text: PUT_OFF,
          values: [projectId, next, perHour, reason, putOff],
        })
        if ((rowCount ?? 0) < CHUNK) return
      }
    },
    /** Deletes the counts of past days. */
    forget: async (): Promise<void> => {
      await pool.query(FORGET, [new Date(now() - 48 * HOUR_MS)])
    },
  }
}

export type HourlyLimit = ReturnType<typeof createHourlyLimit>
