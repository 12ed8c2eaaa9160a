import { useQuery } from '@tanstack/react-query'
import type { ReactNode } from 'react'
import { api, unwrap } from '../api/client.ts'
import { useEventNames } from '../api/known-events.ts'
import { useProjectId } from '../api/session.ts'
import { FirstEvent } from '../home/first-key.tsx'
import { ExportEvents } from '../live/export-events.tsx'
import { Badge } from '../ui/badge.tsx'
import { Card, PageHeader } from '../ui/card.tsx'
import { PageTabs } from '../ui/page-tabs.tsx'
import { EmptyState } from '../ui/states.tsx'
import { AsCurl } from './as-curl.tsx'
import { PeopleSheet } from './people-sheet.tsx'
import type { Kind } from './query-types.ts'
import { SaveActions } from './save.tsx'
import type { QueryState } from './use-query-state.ts'

const TABS = [
  { to: '/p/$projectId/explore/trends', title: 'Trends' },
  { to: '/p/$projectId/explore/funnel', title: 'Funnel' },
  { to: '/p/$projectId/explore/retention', title: 'Retention' },
  { to: '/p/$projectId/explore/paths', title: 'Paths' },
  { to: '/p/$projectId/explore/saved', title: 'Saved' },
] as const

/** The header of all Explore pages. */
export const ExploreHeader = ({ actions, aside }: { actions?: ReactNode; aside?: ReactNode }) => (
  <>
    <PageHeader
      title="Explore"
      description="Queries of what people do. Save a query as an insight to show it on a dashboard."
      actions={actions}
      aside={aside}
    />
    <PageTabs label="Explore" tabs={TABS} />
  </>
)

/** A query page: the editor next to the result. */
export const QueryPage = <K extends Kind>({
  state,
  editor,
  children,
}: {
  state: QueryState<K>
  editor: ReactNode
  children: ReactNode
}) => {
  const projectId = useProjectId()
  const { insightId } = state
  const insight = useQuery({
    queryKey: [projectId, 'insight', insightId],
    enabled: insightId !== undefined,
    queryFn: () =>
      unwrap(
        api.GET('/api/projects/{projectId}/insights/{id}', {
          params: { path: { projectId, id: insightId ?? '' } },
        }),
      ),
  })
  const saved = insightId === undefined ? undefined : insight.data
  return (
    <>
      <ExploreHeader
        aside={saved && <Badge tone="info">{saved.name}</Badge>}
        actions={
          <>
            <ExportEvents range={state.range} />
            <AsCurl state={state} />
            <SaveActions state={state} saved={saved} />
          </>
        }
      />
      <div className="grid items-start gap-4 lg:grid-cols-[19rem_minmax(0,1fr)]">
        <Card padded>
          <search aria-label="Query" className="flex flex-col gap-4">
            {editor}
          </search>
        </Card>
        <div className="flex min-w-0 flex-col gap-4">{children}</div>
      </div>
      <PeopleSheet />
    </>
  )
}

/** In place of a result: what to choose next, or how to send a first event. */
export const NothingYet = ({ title, children }: { title: string; children: ReactNode }) => {
  const names = useEventNames()
  return (
    <Card>
      {names.length === 0 ? (
        <EmptyState icon="explore" title="No events yet">
          <p className="mb-4">Send one. Queries find it within seconds.</p>
          <FirstEvent />
        </EmptyState>
      ) : (
        <EmptyState icon="explore" title={title}>
          {children}
        </EmptyState>
      )}
    </Card>
  )
}
