import { Link } from '@tanstack/react-router'
import { api, unwrap } from '../api/client.ts'
import { useList } from '../api/pages.ts'
import { useProjectId } from '../api/session.ts'
import type { LoyaltyProgramme } from '../api/types.ts'
import { useNavigateFromHere, useUrlDialog } from '../api/url-state.ts'
import { CouponsHeader } from '../coupons/header.tsx'
import { ApiCommand } from '../ui/api-command.tsx'
import { Button, For } from '../ui/button.tsx'
import { Card } from '../ui/card.tsx'
import { changedColumn, statusColumn } from '../ui/columns.tsx'
import { EmptyState } from '../ui/states.tsx'
import { DataTable, rowLinkClass } from '../ui/table.tsx'
import { ProgrammeForm } from './programme-form.tsx'
import { wordsOfExpiry, wordsOfSpending } from './words.ts'

/** The project's loyalty programmes. */
export const Programmes = () => {
  const projectId = useProjectId()
  const navigate = useNavigateFromHere()
  const [dialog, openDialog, closeDialog] = useUrlDialog<'new'>('editor')
  const list = useList<LoyaltyProgramme>([projectId, 'programmes'], (cursor) =>
    unwrap(
      api.GET('/api/projects/{projectId}/loyalty-programmes', {
        params: { path: { projectId }, query: { limit: 50, ...cursor } },
      }),
    ),
  )
  const open = ({ key }: { key: string }) =>
    void navigate({ to: '/p/$projectId/coupons/loyalty/$key', params: { projectId, key } })
  if (dialog === 'new')
    return (
      <>
        <CouponsHeader />
        <Card title="Create programme" padded>
          <ProgrammeForm onCancel={closeDialog} onDone={open} />
        </Card>
      </>
    )
  const create = (
    <For atLeast="editor">
      <Button look="primary" icon="plus" onClick={() => openDialog('new')}>
        Create programme
      </Button>
    </For>
  )
  return (
    <>
      <CouponsHeader action={create} />
      <Card>
        <DataTable
          label="Loyalty programmes"
          list={list}
          keyOf={({ id }) => id}
          onOpen={open}
          columns={[
            {
              title: 'Programme',
              sort: ({ name }) => name,
              cell: ({ key, name }) => (
                <>
                  <Link
                    to="/p/$projectId/coupons/loyalty/$key"
                    params={{ projectId, key }}
                    className={rowLinkClass}
                  >
                    {name}
                  </Link>
                  <span className="block text-muted">{key}</span>
                </>
              ),
            },
            { title: 'Worth', wide: true, cell: ({ spending }) => wordsOfSpending(spending) },
            { title: 'Expire', wide: true, cell: ({ expiryMonths }) => wordsOfExpiry(expiryMonths) },
            statusColumn,
            changedColumn,
          ]}
          empty={
            <EmptyState icon="coupons" title="No loyalty programmes yet" action={create}>
              <p className="mb-4">
                People earn points for their orders and other events, and spend them on later orders.
              </p>
              <For atLeast="editor">
                <ApiCommand
                  does="creates a programme"
                  resource="loyalty-programmes"
                  body={{
                    key: 'club',
                    name: 'Club',
                    expiryMonths: 24,
                    spending: { points: 100, amount: 100, currency: 'EUR' },
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
