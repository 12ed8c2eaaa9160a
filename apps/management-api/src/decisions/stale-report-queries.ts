import type { Prisma } from '@waymark/database'

type Db = Pick<Prisma.TransactionClient, '$queryRaw'>

/**
 * Claims the project whose stale decisions are to be reported at `now`, in ms since the epoch, and sets the next time.
 * Undefined when none is due, or when other transactions have claimed those that are.
 */
export const claimStaleReport = async (
  db: Db,
  now: Date,
  nextAt: Date,
): Promise<{ id: string; settings: unknown } | undefined> => {
  const [claimed] = await db.$queryRaw<{ id: string; settings: unknown }[]>`
    UPDATE core.projects SET stale_report_due_at = ${nextAt}
    WHERE id = (
      SELECT id FROM core.projects WHERE stale_report_due_at <= ${now}
      ORDER BY stale_report_due_at LIMIT 1 FOR UPDATE SKIP LOCKED
    )
    RETURNING id::text, settings`
  return claimed
}
