import { useChange } from '../api/change.ts'
import { api, unwrap } from '../api/client.ts'
import { useList } from '../api/pages.ts'
import { useMay, useProjectId } from '../api/session.ts'
import type { Redemption } from '../api/types.ts'
import { PersonLink } from '../people/person-link.tsx'
import { curlCommand } from '../ui/api-command.tsx'
import { Badge } from '../ui/badge.tsx'
import { CodeBlock } from '../ui/code.tsx'
import { ConfirmButton } from '../ui/dialog.tsx'
import { Time } from '../ui/format.tsx'
import { formatMoney } from '../ui/money.ts'
import { EmptyState } from '../ui/states.tsx'
import { DataTable, NarrowLine } from '../ui/table.tsx'
import { hasPartToRollBack, RollBackPart } from './roll-back-part.tsx'

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
  const rollBack = useChange(
    (id: string) =>
      unwrap(
        api.POST('/api/projects/{projectId}/redemptions/{id}/rollback', {
          params: { path: { projectId, id } },
          body: {},
        }),
      ),
    { done: 'The redemption was rolled back', quiet: true },
  )
  return (
    <DataTable
      label="Redemptions"
      list={list}
      keyOf={({ id }) => id}
      columns={[
        {
          title: 'Code',
          cell: (redemption) => (
            <>
              <code className="block min-w-28 font-mono wrap-anywhere">{nameOf(redemption)}</code>
              <NarrowLine>
                <Redeemer redemption={redemption} />
                {amountOf(redemption)}, <Time at={redemption.redeemedAt} as="ago" />
              </NarrowLine>
            </>
          ),
          sort: ({ code }) => code,
        },
        {
          title: 'Person and order',
          wide: true,
          cell: (redemption) => <Redeemer redemption={redemption} />,
        },
        {
          title: 'Amount',
          align: 'right',
          wide: true,
          sort: ({ amount }) => amount,
          cell: amountOf,
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
          wide: true,
          cell: ({ redeemedAt }) => <Time at={redeemedAt} as="ago" />,
          sort: ({ redeemedAt }) => redeemedAt,
        },
        {
          title: 'State',
          align: 'right',
          cell: (redemption) =>
            redemption.rolledBackAt ? (
              <Badge tone="warning">rolled back</Badge>
            ) : mayEdit ? (
              <span className="flex flex-wrap justify-end gap-2">
                {hasPartToRollBack(redemption) && <RollBackPart redemption={redemption} />}
                <ConfirmButton
                  small
                  label="Roll back"
                  title={`Roll back ${nameOf(redemption)}?`}
                  confirm="Roll back"
                  onConfirm={() => rollBack.mutateAsync(redemption.id)}
                >
                  {redemption.code === null
                    ? 'The promotion no longer counts as used by this order.'
                    : 'The code can be redeemed again, as if this order had never used it.'}
                </ConfirmButton>
              </span>
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
              code: '<a code of a pool>',
              userId: 'user-1',
              orderId: 'order-1',
              amount: 4990,
              currency: 'EUR',
            })}
          />
        </EmptyState>
      }
    />
  )
}

/** The code, or what stands for it of an automatic promotion. */
const nameOf = ({ code }: Redemption): string => code ?? 'promotion'

const amountOf = ({ amount, currency }: Redemption): string =>
  amount !== null && currency ? formatMoney(amount, currency) : '–'

/** The person of a redemption, and the order. */
const Redeemer = ({ redemption }: { redemption: Redemption }) => {
  const { profileId, userId, visitorId, orderId } = redemption
  return (
    <>
      {profileId ? (
        <PersonLink id={profileId}>{userId ?? visitorId ?? profileId}</PersonLink>
      ) : (
        (userId ?? visitorId ?? '–')
      )}
      {orderId !== null && <span className="block max-w-48 truncate text-muted">{orderId}</span>}
    </>
  )
}
