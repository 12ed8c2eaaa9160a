import { useState } from 'react'
import { api, unwrap } from '../api/client.ts'
import { useList } from '../api/pages.ts'
import { useMay, useProjectId } from '../api/session.ts'
import type { CardMovement, GiftCard } from '../api/types.ts'
import { PersonLink } from '../people/person-link.tsx'
import { Status } from '../ui/badge.tsx'
import { Button } from '../ui/button.tsx'
import { Modal } from '../ui/dialog.tsx'
import { formatCount, Time } from '../ui/format.tsx'
import { formatMoney } from '../ui/money.ts'
import { EmptyState } from '../ui/states.tsx'
import { DataTable, NarrowLine, rowLinkClass } from '../ui/table.tsx'
import { RefundOrder } from './move-money.tsx'

const useMovements = (of: { couponId: string } | { poolId: string }, growing = false) => {
  const projectId = useProjectId()
  return useList<CardMovement>([projectId, 'card-movements', of, growing], (cursor) =>
    unwrap(
      api.GET('/api/projects/{projectId}/gift-cards/movements', {
        params: { path: { projectId }, query: { limit: 25, ...of, ...cursor } },
      }),
    ),
  )
}

const kindColumn = {
  title: 'Movement',
  cell: (movement: CardMovement) => (
    <>
      <Status status={movement.kind} />
      <NarrowLine>
        <Cause movement={movement} />
        <Time at={movement.createdAt} as="ago" />
      </NarrowLine>
    </>
  ),
}
const amountColumn = {
  title: 'Amount',
  align: 'right' as const,
  cell: ({ amount, currency }: CardMovement) => (
    <span className="whitespace-nowrap">{formatMoney(amount, currency)}</span>
  ),
}
const timeColumn = {
  title: 'Time',
  align: 'right' as const,
  wide: true,
  cell: ({ createdAt }: CardMovement) => <Time at={createdAt} as="ago" />,
}
const causeColumn = {
  title: 'Order and person',
  wide: true,
  cell: (movement: CardMovement) => <Cause movement={movement} />,
}
const empty = <EmptyState icon="coupons" title="No movements yet" />

/** The movements of all cards of a pool. `growing`: more are being generated. */
export const PoolMovements = ({
  poolId,
  growing,
  onOpen,
}: {
  poolId: string
  growing: boolean
  onOpen: (id: string) => void
}) => (
  <DataTable
    label="Movements"
    list={useMovements({ poolId }, growing)}
    keyOf={({ id }) => id}
    columns={[
      kindColumn,
      causeColumn,
      amountColumn,
      timeColumn,
      {
        title: 'Card',
        align: 'right',
        cell: ({ couponId, cards }) =>
          couponId === null || cards > 1 ? (
            formatCount(cards, 'card')
          ) : (
            <button type="button" className={rowLinkClass} onClick={() => onOpen(couponId)}>
              Show card
            </button>
          ),
      },
    ]}
    empty={empty}
  />
)

/** The movements of one card. Those that paid an order can be refunded. */
export const CardMovements = ({ card }: { card: GiftCard }) => {
  const mayRefund = useMay('editor') && card.status !== 'revoked'
  const [orderId, setOrderId] = useState<string | null>(null)
  const close = () => setOrderId(null)
  return (
    <>
      <DataTable
        label="Movements of the card"
        list={useMovements({ couponId: card.id })}
        keyOf={({ id }) => id}
        columns={[
          kindColumn,
          causeColumn,
          amountColumn,
          timeColumn,
          ...(mayRefund
            ? [
                {
                  title: 'Actions',
                  align: 'right' as const,
                  cell: ({ kind, orderId: paid }: CardMovement) =>
                    kind === 'spent' &&
                    paid !== null && (
                      <Button small aria-label={`Refund ${paid}`} onClick={() => setOrderId(paid)}>
                        Refund
                      </Button>
                    ),
                },
              ]
            : []),
        ]}
        empty={empty}
      />
      <Modal open={orderId !== null} onClose={close} title={`Refund ${orderId ?? ''}`}>
        {orderId !== null && <RefundOrder card={card} orderId={orderId} onDone={close} />}
      </Modal>
    </>
  )
}

/** What a movement was for: the order, the person and the reason. */
const Cause = ({ movement }: { movement: CardMovement }) => {
  const { orderId, profileId, userId, visitorId, reason } = movement
  return (
    <>
      {orderId !== null && <span className="block max-w-48 truncate">{orderId}</span>}
      {profileId !== null && <PersonLink id={profileId}>{userId ?? visitorId ?? profileId}</PersonLink>}
      {reason !== null && <span className="block max-w-60 wrap-anywhere text-muted">{reason}</span>}
    </>
  )
}
