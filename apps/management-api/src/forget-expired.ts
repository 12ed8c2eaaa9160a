import type { Loop, Platform } from '@waymark/service-kit'

const EVERY_MS = 3_600_000

/** Deletes sessions and counts of failed sign-ins that have run out. Whichever replica does it, it is done. */
export const forgetExpired = ({ db, clock }: Pick<Platform, 'db' | 'clock'>): Loop => ({
  name: 'forget-expired',
  everyMs: EVERY_MS,
  run: async () => {
    const now = new Date(clock())
    await db.pool.query('DELETE FROM core.sessions WHERE expires_at <= $1', [now])
    await db.pool.query('DELETE FROM core.sign_in_failures WHERE window_ends_at <= $1', [now])
    return false
  },
})
