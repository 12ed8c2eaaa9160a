import { Link, useNavigate } from '@tanstack/react-router'
import { api, unwrap } from '../api/client.ts'
import { useList } from '../api/pages.ts'
import { useProjectId } from '../api/session.ts'
import type { ListedProposal } from '../api/types.ts'
import { useUrlState } from '../api/url-state.ts'
import { ActorName } from '../ui/actor.tsx'
import { Badge, Status } from '../ui/badge.tsx'
import { Card, PageHeader } from '../ui/card.tsx'
import { Select } from '../ui/form.tsx'
import { Time } from '../ui/format.tsx'
import { EmptyState } from '../ui/states.tsx'
import { DataTable, NarrowLine, rowLinkClass } from '../ui/table.tsx'

const STATUSES = ['open', 'applied', 'rejected', 'withdrawn', 'failed'] as const

/** How many approvals a proposal has of those that it needs. */
export const approvalCounts = ({ approvals }: Pick<ListedProposal, 'approvals'>): string =>
  approvals.map(({ given, required }) => `${given} of ${required}`).join(', ')

/** The proposed changes of the project's decisions. */
export const Proposals = () => {
  const projectId = useProjectId()
  const navigate = useNavigate()
  const [{ status: asked = 'open' }, setSearch] = useUrlState<'status'>()
  const status = STATUSES.find((one) => one === asked)
  const list = useList<ListedProposal>([projectId, 'proposals', asked], (cursor) =>
    unwrap(
      api.GET('/api/projects/{projectId}/proposals', {
        params: { path: { projectId }, query: { limit: 25, ...(status && { status }), ...cursor } },
      }),
    ),
  )
  return (
    <>
      <PageHeader
        back={{ to: '/p/$projectId/decisions', params: { projectId }, label: 'Decisions' }}
        title="Proposals"
        description="Changes of decisions that others approve."
      />
      <Card>
        <search className="border-b border-line p-4">
          <Select
            label="Status"
            className="max-w-xs"
            value={status ?? 'all'}
            onChange={(event) => setSearch({ status: event.target.value })}
            options={[...STATUSES.map((one) => [one, one] as const), ['all', 'all']]}
          />
        </search>
        <DataTable
          label="Proposals"
          list={list}
          keyOf={({ id }) => id}
          onOpen={({ id, decision }) =>
            void navigate({
              to: '/p/$projectId/decisions/$key/proposals/$id',
              params: { projectId, key: decision, id },
            })
          }
          columns={[
            {
              title: 'Decision',
              cell: ({ id, decision, comment, proposedBy, createdAt }) => (
                <span className="block min-w-24 wrap-anywhere">
                  <Link
                    to="/p/$projectId/decisions/$key/proposals/$id"
                    params={{ projectId, key: decision, id }}
                    className={rowLinkClass}
                  >
                    {decision}
                  </Link>
                  {comment && <span className="block text-muted">{comment}</span>}
                  <NarrowLine>
                    <ActorName actor={proposedBy} /> · <Time at={createdAt} as="ago" />
                  </NarrowLine>
                </span>
              ),
            },
            {
              title: 'Status',
              cell: ({ status: is, outdated }) => (
                <span className="flex flex-wrap gap-1">
                  <Status status={is} />
                  {outdated && <Badge tone="warning">outdated</Badge>}
                </span>
              ),
            },
            { title: 'Approvals', align: 'right', cell: (row) => approvalCounts(row) || '–' },
            { title: 'Who', wide: true, cell: ({ proposedBy }) => <ActorName actor={proposedBy} /> },
            { title: 'When', align: 'right', wide: true, cell: ({ createdAt }) => <Time at={createdAt} /> },
          ]}
          empty={<EmptyState icon="decisions" title="No such proposals" />}
        />
      </Card>
    </>
  )
}
