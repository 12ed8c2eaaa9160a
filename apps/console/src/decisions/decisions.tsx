import { Link, useNavigate } from '@tanstack/react-router'
import { api, unwrap } from '../api/client.ts'
import { useList } from '../api/pages.ts'
import { useProjectId } from '../api/session.ts'
import type { Decision } from '../api/types.ts'
import { ApiCommand } from '../ui/api-command.tsx'
import { buttonClass, For } from '../ui/button.tsx'
import { Card, PageHeader } from '../ui/card.tsx'
import { changedColumn, statusColumn } from '../ui/columns.tsx'
import { formatNumber } from '../ui/format.tsx'
import { Icon } from '../ui/icon.tsx'
import { EmptyState } from '../ui/states.tsx'
import { DataTable, rowLinkClass } from '../ui/table.tsx'
import { Labels } from './labels.tsx'

/** The project's decisions. */
export const Decisions = () => {
  const projectId = useProjectId()
  const navigate = useNavigate()
  const list = useList<Decision>([projectId, 'decisions'], (cursor) =>
    unwrap(
      api.GET('/api/projects/{projectId}/decisions', {
        params: { path: { projectId }, query: { limit: 50, ...cursor } },
      }),
    ),
  )
  const create = (
    <For atLeast="editor">
      <Link to="/p/$projectId/decisions/_new" params={{ projectId }} className={buttonClass('primary')}>
        <Icon name="plus" /> Create decision
      </Link>
    </For>
  )
  return (
    <>
      <PageHeader
        title="Decisions"
        description="Who gets which variant: flags, rollouts and experiments."
        actions={
          <>
            <Link
              to="/p/$projectId/decisions/_proposals"
              params={{ projectId }}
              className={buttonClass('secondary')}
            >
              Proposals
            </Link>
            {create}
          </>
        }
      />
      <Card>
        <DataTable
          label="Decisions"
          list={list}
          keyOf={({ id }) => id}
          onOpen={({ key }) =>
            void navigate({ to: '/p/$projectId/decisions/$key', params: { projectId, key } })
          }
          columns={[
            {
              title: 'Decision',
              sort: ({ key }) => key,
              cell: (row) => (
                <>
                  <Link
                    to="/p/$projectId/decisions/$key"
                    params={{ projectId, key: row.key }}
                    className={rowLinkClass}
                  >
                    {row.name || row.key}
                  </Link>
                  {row.name && <span className="block text-muted">{row.key}</span>}
                  <Labels decision={row} />
                </>
              ),
            },
            statusColumn,
            {
              title: 'Variants',
              wide: true,
              cell: ({ variants }) => variants.map(({ key }) => key).join(', '),
            },
            {
              title: 'Rules',
              align: 'right',
              cell: ({ rules }) => formatNumber(rules.length),
              sort: ({ rules }) => rules.length,
            },
            changedColumn,
          ]}
          empty={
            <EmptyState icon="decisions" title="No decisions yet" action={create}>
              <p className="mb-4">
                A decision gives each person a variant: a banner, a price, a coupon. It stays the same for
                them.
              </p>
              <For atLeast="editor">
                <ApiCommand
                  does="creates a decision"
                  resource="decisions"
                  body={{
                    key: 'free-shipping',
                    fallbackVariant: 'off',
                    variants: [
                      { key: 'off', value: false },
                      { key: 'on', value: true },
                    ],
                    rules: [
                      {
                        split: [
                          { variant: 'off', weight: 50 },
                          { variant: 'on', weight: 50 },
                        ],
                      },
                    ],
                  }}
                />
              </For>
            </EmptyState>
          }
        />
      </Card>
    </>
  )
}
