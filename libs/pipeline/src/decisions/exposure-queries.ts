import type { Exposure } from '@waymark/contracts/records/change-records'
import { bulkColumns } from '@waymark/database'
import { countingIdOf } from '@waymark/domain/decision'
import type { ClientBase, Pool } from 'pg'
import { resolveProfiles } from '../identity/index.ts'

type KnownExposure = Exposure & { profileId: string }

const columns = bulkColumns<KnownExposure>([
  {
    name: 'decision_id',
    type: 'uuid',
    of: ({ decisionId, environment }) => countingIdOf(decisionId, environment),
  },
  { name: 'variant', type: 'text', of: ({ variant }) => variant },
  { name: 'profile_id', type: 'uuid', of: ({ profileId }) => profileId },
  { name: 'day', type: 'date', of: ({ exposedAt }) => exposedAt.slice(0, 10) },
  { name: 'project_id', type: 'uuid', of: ({ projectId }) => projectId },
  { name: 'reason', type: 'text', of: ({ reason }) => reason },
  { name: 'rule_id', type: 'text', of: ({ ruleId }) => ruleId },
  { name: 'version', type: 'int', of: ({ version }) => version },
  { name: 'subject', type: 'text', of: ({ subject }) => subject },
  { name: 'exposed_at', type: 'timestamptz', of: ({ exposedAt }) => exposedAt },
])

// Keeps the earliest exposure of a day by a split, else the earliest, in whichever order they arrive. Experiments count
// conversions since then, and only splits: otherwise whoever got the fallback before a ramp reached them would be lost.
const INSERT = `
  INSERT INTO decision.exposures AS known (${columns.names})
  SELECT DISTINCT ON (decision_id, variant, profile_id, day) * FROM ${columns.unnest} AS given (${columns.names})
  ORDER BY decision_id, variant, profile_id, day, reason = 'SPLIT' DESC, exposed_at
  ON CONFLICT (decision_id, variant, profile_id, day) DO UPDATE SET reason = excluded.reason,
    rule_id = excluded.rule_id, version = excluded.version, subject = excluded.subject, exposed_at = excluded.exposed_at
  WHERE CASE WHEN (known.reason = 'SPLIT') = (excluded.reason = 'SPLIT') THEN known.exposed_at > excluded.exposed_at
    ELSE excluded.reason = 'SPLIT' END`

const LIVING = 'SELECT id FROM ingest.profiles WHERE id = ANY($1::uuid[])'

/**
 * Stores exposures, one per decision, variant, profile and day (UTC): the first by a split, else the first. Without an existing
 * profile, the exposure gets the current profile of the person's id, which is created if necessary.
 */
export const storeExposures = async (
  client: ClientBase | Pool,
  exposures: readonly Exposure[],
): Promise<void> => {
  const living = await findLiving(client, exposures)
  const profileIn = ({ profileId }: Exposure) => (profileId && living.has(profileId) ? profileId : null)
  const unknown = exposures.filter((exposure) => profileIn(exposure) === null)
  const found = unknown.length > 0 ? await resolveProfiles(client, unknown.map(asPerson)) : []
  const profileOf = new Map(unknown.map((exposure, index) => [exposure, found[index] ?? null]))
  const known = exposures.flatMap((exposure): KnownExposure[] => {
    const profileId = profileIn(exposure) ?? profileOf.get(exposure) ?? null
    return profileId === null ? [] : [{ ...exposure, profileId }]
  })
  await client.query({ name: 'store-exposures', text: INSERT, values: columns.values(known) })
}

const findLiving = async (
  client: ClientBase | Pool,
  exposures: readonly Exposure[],
): Promise<ReadonlySet<string>> => {
  const asked = new Set(exposures.flatMap(({ profileId }) => profileId ?? []))
  if (asked.size === 0) return asked
  const { rows } = await client.query<{ id: string }>({
    name: 'living-profiles',
    text: LIVING,
    values: [[...asked]],
  })
  return new Set(rows.map(({ id }) => id))
}

const asPerson = ({ projectId, visitorId, userId, exposedAt }: Exposure) => ({
  projectId,
  visitorId,
  userId,
  receivedAt: exposedAt,
})
