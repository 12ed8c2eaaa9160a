import { api, unwrap } from '../api/client.ts'
import { useList } from '../api/pages.ts'
import { useMay, useProjectId } from '../api/session.ts'
import type { Redemption } from '../api/types.ts'
import { PersonLink } from '../people/person-link.tsx'
import { curlCommand } from '../ui/api-command.tsx'
import { Badge } from '../ui/badge.tsx'
import { CodeBlock } from '../ui/code.tsx'
import { ConfirmButton } from '../ui/dialog.tsx'
import { formatMoney, Time } from '../ui/format.tsx'
import { EmptyState } from '../ui/states.tsx'
import { DataTable } from '../ui/table.tsx'
import { toasts } from '../ui/toasts.tsx'

/** Redemptions of the project or of one pool, which can be rolled back. */
export const Redemptions = ({ poolId }: { poolId?: string }) => {
  const projectId = useProjectId()
  const mayEdit = useMay('editor')
  const list = useList<Redemption>([projectId, 'redemptions', poolId], (cursor) =>
    unwrap(
      api.GET('/api/projects/{projectId}/redemptions', {
        params: { path: { projectId }, query: { limit: 50, ...(poolId && { poolId }), ...cursor } },
      }),
    ),
  )
  const rollBack = async (id: string) => {
    await unwrap(
      api.POST('/api/projects/{projectId}/redemptions/{id}/rollback', {
        params: { path: { projectId, id } },
        body: {},
      }),
    )
    toasts.add({ title: 'The redemption was rolled back' })
    list.refetch()
  }
  return (
    <DataTable
      label="Redemptions"
      list={list}
      keyOf={({ id }) => id}
      columns={[
        {
          title: 'Code',
          cell: ({ code }) => <code className="block min-w-28 font-mono">{code}</code>,
          sort: ({ code }) => code,
        },
        {
          title: 'Person and order',
          cell: ({ profileId, userId, visitorId, orderId }) => (
            <>
              {profileId ? (
                <PersonLink id={profileId}>{userId ?? visitorId}</PersonLink>
              ) : (
                (userId ?? visitorId ?? '–')
              )}
              {orderId !== null && <span className="block max-w-48 truncate text-muted">{orderId}</span>}
            </>
          ),
        },
        {
          title: 'Amount',
          align: 'right',
          sort: ({ amount }) => amount,
          cell: ({ amount, currency }) => (amount !== null && currency ? formatMoney(amount, currency) : '–'),
        },
        {
          title: 'Discount',
          align: 'right',
          wide: true,
          sort: ({ discountAmount }) => discountAmount,
          cell: ({ discountAmount, rolledBackAmount, currency }) =>
            discountAmount !== null && currency
              ? formatMoney(discountAmount - rolledBackAmount, currency)
              : '–',
        },
        {
          title: 'Redeemed',
          align: 'right',
          cell: ({ redeemedAt }) => <Time at={redeemedAt} as="ago" />,
          sort: ({ redeemedAt }) => redeemedAt,
        },
        {
          title: 'State',
          align: 'right',
          cell: ({ id, code, rolledBackAt }) =>
            rolledBackAt ? (
              <Badge tone="warning">rolled back</Badge>
            ) : mayEdit ? (
              <ConfirmButton
                small
                label="Roll back"
                title={`Roll back ${code}?`}
                confirm="Roll back"
                onConfirm={() => rollBack(id)}
              >
                The code can be redeemed again, as if this order had never used it.
              </ConfirmButton>
            ) : (
              <Badge tone="good">redeemed</Badge>
            ),
        },
      ]}
      empty={
        <EmptyState icon="coupons" title="Nothing was redeemed yet">
          <p className="mb-4">Your shop redeems a code with one request for each order.</p>
          <CodeBlock
            label="Command that redeems a code"
            text={curlCommand('/api/v1/coupons/redeem', 'key with the scope coupons:redeem', {
              ...{ code: '<a code of a pool>', userId: 'user-1', orderId: 'order-1' },
              ...{ amount: 4990, currency: 'EUR' },
            })}
          />
        </EmptyState>
      }
    />
  )
}
