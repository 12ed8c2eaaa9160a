import { api, unwrap } from '../api/client.ts'
import { useList } from '../api/pages.ts'
import { useMay, useProjectId } from '../api/session.ts'
import type { AuditEntry } from '../api/types.ts'
import { useUrlState } from '../api/url-state.ts'
import { ActorName } from '../ui/actor.tsx'
import { Badge } from '../ui/badge.tsx'
import { Card } from '../ui/card.tsx'
import { FilterInput } from '../ui/filter-input.tsx'
import { Time } from '../ui/format.tsx'
import { EmptyState } from '../ui/states.tsx'
import { DataTable, NarrowLine } from '../ui/table.tsx'
import { SettingsHeader } from './header.tsx'
import { AdminsOnly } from './role-required.tsx'

/** What goes around the approvals of others. */
const WITHOUT_APPROVALS: ReadonlySet<string> = new Set(['bypassProposal', 'weakenApprovals'])

/** The audit log. */
export const Audit = () => {
  const projectId = useProjectId()
  const isAdmin = useMay('admin')
  const [{ operation = '', resourceId = '' }, setSearch] = useUrlState<'operation' | 'resourceId'>()
  const list = useList<AuditEntry>(
    [projectId, 'audit', operation, resourceId],
    (cursor) =>
      unwrap(
        api.GET('/api/projects/{projectId}/audit-log', {
          params: {
            path: { projectId },
            query: {
              limit: 50,
              ...(operation && { operation }),
              ...(resourceId && { resourceId }),
              ...cursor,
            },
          },
        }),
      ),
    { enabled: isAdmin },
  )
  if (!isAdmin) return <AdminsOnly />
  return (
    <>
      <SettingsHeader />
      <Card>
        <search className="grid gap-3 border-b border-line p-4 sm:grid-cols-2">
          <FilterInput
            label="Operation"
            placeholder="createLink"
            value={operation}
            onCommit={(text) => setSearch({ operation: text })}
          />
          <FilterInput
            label="Id of what was changed"
            value={resourceId}
            onCommit={(text) => setSearch({ resourceId: text })}
          />
        </search>
        <DataTable
          label="Audit log"
          list={list}
          keyOf={({ id }) => id}
          columns={[
            {
              title: 'Who',
              cell: ({ actor, at }) => (
                <span className="flex min-w-28 flex-wrap items-center gap-x-2 font-medium wrap-anywhere">
                  <ActorName actor={actor} />
                  {actor.accessToken && <Badge>token {actor.accessToken.name ?? '(revoked)'}</Badge>}
                  <NarrowLine>
                    <Time at={at} />
                  </NarrowLine>
                </span>
              ),
            },
            {
              title: 'Did',
              cell: ({ operation: done, reason }) => (
                <span className="block min-w-24 wrap-anywhere">
                  <code className="font-mono">{done}</code>{' '}
                  {WITHOUT_APPROVALS.has(done) && <Badge tone="danger">without approvals</Badge>}
                  {reason && <span className="block text-muted">Reason: {reason}</span>}
                </span>
              ),
              sort: ({ operation: done }) => done,
            },
            {
              title: 'Fields',
              wide: true,
              cell: ({ fields }) => (
                <span className="block max-w-40 truncate text-muted">{fields.join(', ') || '–'}</span>
              ),
            },
            { title: 'From', wide: true, cell: ({ network }) => network ?? '–' },
            {
              title: 'When',
              align: 'right',
              wide: true,
              cell: ({ at }) => <Time at={at} />,
              sort: ({ at }) => at,
            },
          ]}
          empty={
            <EmptyState
              icon="catalog"
              title={operation || resourceId ? 'Nothing fits' : 'Nothing was changed yet'}
            />
          }
        />
      </Card>
    </>
  )
}
