import { useChange } from '../api/change.ts'
import { api, unwrap } from '../api/client.ts'
import { useList } from '../api/pages.ts'
import { useMay, useProjectId } from '../api/session.ts'
import type { Coupon } from '../api/types.ts'
import { useUrlState } from '../api/url-state.ts'
import { Card } from '../ui/card.tsx'
import { statusColumn } from '../ui/columns.tsx'
import { ConfirmButton } from '../ui/dialog.tsx'
import { FilterInput } from '../ui/filter-input.tsx'
import { Select } from '../ui/form.tsx'
import { formatNumber, Time } from '../ui/format.tsx'
import { formatMoney } from '../ui/money.ts'
import { EmptyState } from '../ui/states.tsx'
import { type Column, DataTable, rowLinkClass } from '../ui/table.tsx'
import { useRevoke } from './gift-card.tsx'

const STATUSES = ['available', 'assigned', 'redeemed', 'revoked'] as const
/** Gift cards are assigned to nobody, and stay available when they hold nothing. */
const CARD_STATUSES = ['available', 'revoked'] as const
/** Those that can be revoked. */
const USABLE = ['available', 'assigned'] as const

/** The codes of a pool. `growing`: more are being generated. With `onOpenCard`, they are gift cards. */
export const Codes = ({
  poolId,
  growing,
  onOpenCard,
}: {
  poolId: string
  growing: boolean
  onOpenCard?: (id: string) => void
}) => {
  const isCards = onOpenCard !== undefined
  const statuses = isCards ? CARD_STATUSES : STATUSES
  const projectId = useProjectId()
  const mayEdit = useMay('editor')
  const [search, setSearch] = useUrlState<'q' | 'status'>()
  const { q = '' } = search
  const status = statuses.find((one) => one === search.status)
  const usable = USABLE.find((one) => one === status)
  const list = useList<Coupon>([projectId, 'coupons', poolId, q, status, growing], (cursor) =>
    unwrap(
      api.GET('/api/projects/{projectId}/coupons', {
        params: {
          path: { projectId },
          query: { limit: 25, poolId, ...(q && { q }), ...(status && { status }), ...cursor },
        },
      }),
    ),
  )
  const title = isCards ? 'Gift cards' : 'Codes'
  const revoke = useRevoke('Code revoked')
  const revokeAll = useChange(
    () =>
      unwrap(
        api.POST('/api/projects/{projectId}/coupons/revoke', {
          params: { path: { projectId } },
          body: { poolId, ...(usable && { status: usable }), ...(q && { q }) },
        }),
      ),
    { done: ({ revoked }) => `${title} revoked: ${formatNumber(revoked)}`, quiet: true },
  )
  const revocable = mayEdit && list.rows.length > 0 && (status === undefined || usable !== undefined)
  const which = [
    isCards
      ? 'Every available gift card of this pool'
      : `Every ${usable ? `code that is ${usable}` : 'available and every assigned code'} of this pool`,
    ...(q ? [`that begins with ${q}`] : []),
  ].join(' ')
  return (
    <Card
      title={title}
      actions={
        revocable && (
          <ConfirmButton
            small
            label={q || usable ? 'Revoke all of these' : 'Revoke all'}
            title={q || usable ? 'Revoke all codes that the filters match?' : 'Revoke all codes of the pool?'}
            confirm="Revoke all"
            onConfirm={() => revokeAll.mutateAsync()}
          >
            {which} is refused from then on, also those that are not listed yet. This cannot be undone.
          </ConfirmButton>
        )
      }
    >
      <search className="grid gap-3 border-y border-line p-4 sm:grid-cols-[1fr_12rem]">
        <FilterInput
          label="Search codes"
          hideLabel
          type="search"
          placeholder="Beginning of a code"
          value={q}
          onCommit={(text) => setSearch({ q: text })}
        />
        <Select
          label="Status of codes"
          hideLabel
          value={status ?? ''}
          onChange={(event) => setSearch({ status: event.target.value })}
          options={[['', 'All'], ...statuses.map((one) => [one, one] as const)]}
        />
      </search>
      <DataTable
        label={title}
        list={list}
        keyOf={({ id }) => id}
        {...(onOpenCard && { onOpen: ({ id }: Coupon) => onOpenCard(id) })}
        columns={[
          {
            title: 'Code',
            cell: ({ id, code }) =>
              onOpenCard ? (
                <button
                  type="button"
                  className={`min-w-28 text-left font-mono ${rowLinkClass}`}
                  onClick={() => onOpenCard(id)}
                >
                  {code}
                </button>
              ) : (
                <code className="block min-w-28 font-mono">{code}</code>
              ),
            sort: ({ code }) => code,
          },
          statusColumn,
          ...(isCards ? [balanceColumn] : usageColumns),
          {
            title: 'Held until',
            wide: true,
            cell: ({ heldUntil }) => <Time at={heldUntil} />,
            sort: ({ heldUntil }) => heldUntil,
          },
          // A card is revoked in its sheet.
          ...(mayEdit && !isCards
            ? [
                {
                  title: 'Actions',
                  align: 'right' as const,
                  cell: ({ id, code, status: now }: Coupon) =>
                    now === 'available' || now === 'assigned' ? (
                      <ConfirmButton
                        small
                        label="Revoke"
                        title={`Revoke ${code}?`}
                        confirm="Revoke"
                        onConfirm={() => revoke.mutateAsync(id)}
                      >
                        The code is refused from then on. This cannot be undone.
                      </ConfirmButton>
                    ) : null,
                },
              ]
            : []),
        ]}
        empty={
          <EmptyState
            icon="coupons"
            title={q || status ? 'No code fits' : isCards ? 'No gift cards yet' : 'No codes yet'}
          />
        }
      />
    </Card>
  )
}

const balanceColumn: Column<Coupon> = {
  title: 'Balance',
  align: 'right',
  cell: ({ balance }) => balance && formatMoney(balance.amount, balance.currency),
  sort: ({ balance }) => balance?.amount ?? null,
}

/** When a code was assigned and redeemed. */
const usageColumns: readonly Column<Coupon>[] = [
  {
    title: 'Assigned',
    wide: true,
    cell: ({ assignedAt }) => <Time at={assignedAt} />,
    sort: ({ assignedAt }) => assignedAt,
  },
  {
    title: 'Redeemed',
    wide: true,
    cell: ({ redeemedAt }) => <Time at={redeemedAt} />,
    sort: ({ redeemedAt }) => redeemedAt,
  },
]
