import { keepPreviousData, useQuery } from '@tanstack/react-query'
import { api, unwrap } from '../api/client.ts'
import { useProjectId } from '../api/session.ts'
import { atATime, whenBusy } from '../explore/run-query.ts'
import { nameOf } from '../people/person.tsx'
import { PersonLink } from '../people/person-link.tsx'
import { useDebounced } from '../ui/debounce.ts'
import { formatNumber } from '../ui/format.tsx'
import { ErrorState, SkeletonLines } from '../ui/states.tsx'
import { type Condition, completeCondition } from './condition.ts'

/** How many people a condition has, and some of them. */
export const SegmentPeople = ({ condition }: { condition: Condition }) => {
  const projectId = useProjectId()
  const text = useDebounced(JSON.stringify(completeCondition(condition) ?? null))
  const preview = useQuery({
    queryKey: [projectId, 'segment-preview', text],
    enabled: text !== 'null',
    queryFn: ({ signal }) =>
      atATime(() => {
        signal.throwIfAborted()
        return unwrap(
          api.POST('/api/projects/{projectId}/segments/preview', {
            params: { path: { projectId } },
            body: { condition: JSON.parse(text) },
            signal,
          }),
        )
      }),
    placeholderData: keepPreviousData,
    staleTime: 30_000,
    ...whenBusy,
  })
  if (text === 'null')
    return <p className="text-muted">Complete the filters and counts to see who matches.</p>
  if (preview.error) return <ErrorState error={preview.error} retry={() => void preview.refetch()} />
  if (!preview.data) return <SkeletonLines lines={2} />
  const { people, sample } = preview.data
  return (
    <div aria-live="polite" className="flex flex-col gap-1">
      <p className="text-lg font-medium tabular-nums">
        {formatNumber(people)} {people === 1 ? 'person' : 'people'}
      </p>
      {sample.length > 0 && (
        <ul aria-label="Some of them" className="flex flex-wrap gap-x-3 gap-y-1">
          {sample.map((person) => (
            <li key={person.id} className="wrap-anywhere">
              <PersonLink id={person.id}>{nameOf(person)}</PersonLink>
            </li>
          ))}
        </ul>
      )}
    </div>
  )
}
