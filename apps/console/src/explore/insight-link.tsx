import { Link } from '@tanstack/react-router'
import { useProjectId } from '../api/session.ts'
import type { Insight } from '../api/types.ts'
import { searchOfSaved } from './query-url.ts'
import { formatRange, type Range } from './time-range.ts'

/** A link to the query of an insight, with `range` if given. */
export const InsightLink = ({ insight, range }: { insight: Insight; range?: Range | undefined }) => {
  const projectId = useProjectId()
  const search = {
    ...searchOfSaved(insight),
    ...(range && Object.fromEntries(Object.entries(formatRange(range)).filter(([, text]) => text !== ''))),
  }
  return (
    <Link
      to={`/p/$projectId/explore/${insight.kind}`}
      params={{ projectId }}
      search={search as never}
      className="rounded font-medium break-words hover:underline"
    >
      {insight.name}
    </Link>
  )
}
