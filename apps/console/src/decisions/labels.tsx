import type { Decision } from '../api/types.ts'
import { Badge } from '../ui/badge.tsx'

/** Who looks after a decision, its tags, and whether it can be removed from the code. */
export const Labels = ({ decision: { owner, tags, stale } }: { decision: Decision }) => (
  <>
    {owner && <Badge tone="info">{owner}</Badge>}
    {(tags ?? []).map((tag) => (
      <Badge key={tag}>{tag}</Badge>
    ))}
    {stale && (
      <Badge tone="warning">
        stale: {STALE[stale.reason](stale.variant)} for {daysSince(stale.since)} days
      </Badge>
    )}
  </>
)

const STALE: Record<NonNullable<Decision['stale']>['reason'], (variant?: string) => string> = {
  not_evaluated: () => 'nobody asks for it',
  one_variant: (variant) => `everyone gets ${variant}`,
  off: () => 'off',
}

const DAY_MS = 24 * 60 * 60 * 1_000
const daysSince = (at: string): number => Math.floor((Date.now() - Date.parse(at)) / DAY_MS)
