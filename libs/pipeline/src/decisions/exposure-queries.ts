import type { Exposure } from '@waymark/contracts'
import { bulkColumns } from '@waymark/database'
import type { ClientBase, Pool } from 'pg'
import { resolveProfiles } from '../identity/index.ts'

/** An exposure of somebody whose profile is known by now. */
type Known = Exposure & { profileId: string }

const columns = bulkColumns<Known>([
  { name: 'decision_id', type: 'uuid', of: ({ decisionId }) => decisionId },
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

// Of several on one day the first counts, in whichever order they come: conversions are counted from it on.
const INSERT = `
  INSERT INTO decision.exposures AS known (${columns.names})
  SELECT DISTINCT ON (decision_id, variant, profile_id, day) * FROM ${columns.unnest} AS given (${columns.names})
  ORDER BY decision_id, variant, profile_id, day, exposed_at
  ON CONFLICT (decision_id, variant, profile_id, day) DO UPDATE SET exposed_at = excluded.exposed_at
  WHERE known.exposed_at > excluded.exposed_at`

const LIVING = 'SELECT id FROM ingest.profiles WHERE id = ANY($1::uuid[])'

/**
 * Stores exposures, each once per decision, variant, profile and day (UTC). Whoever had no profile when it was decided,
 * or one that was erased since, gets the one that their id belongs to now, which is created if need be.
 */
export const storeExposures = async (
  client: ClientBase | Pool,
  exposures: readonly Exposure[],
): Promise<void> => {
  const living = await findLiving(client, exposures)
  const profileIn = ({ profileId }: Exposure) => (profileId && living.has(profileId) ? profileId : null)
  const strangers = exposures.filter((exposure) => profileIn(exposure) === null)
  const found = strangers.length > 0 ? await resolveProfiles(client, strangers.map(asPerson)) : []
  const profileOf = new Map(strangers.map((exposure, index) => [exposure, found[index] ?? null]))
  const known = exposures.flatMap((exposure): Known[] => {
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
