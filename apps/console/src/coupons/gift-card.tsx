import { useQuery } from '@tanstack/react-query'
import { useState } from 'react'
import { useChange } from '../api/change.ts'
import { api, unwrap } from '../api/client.ts'
import { useMay, useProjectId } from '../api/session.ts'
import type { GiftCard } from '../api/types.ts'
import { useUrlState } from '../api/url-state.ts'
import { Status } from '../ui/badge.tsx'
import { Button } from '../ui/button.tsx'
import { Card, Facts } from '../ui/card.tsx'
import { CopyButton } from '../ui/code.tsx'
import { ConfirmButton, Modal } from '../ui/dialog.tsx'
import { Time } from '../ui/format.tsx'
import { formatMoney } from '../ui/money.ts'
import { ErrorState, SkeletonLines } from '../ui/states.tsx'
import { CardMovements } from './card-movements.tsx'
import { TopUpCard, TransferCard } from './move-money.tsx'

/** The gift card that is open, as the parameter `card` of the URL: the id of its coupon. */
export const useOpenCard = (): [string | undefined, open: (id: string) => void, close: () => void] => {
  const [{ card }, set] = useUrlState<'card'>()
  return [card, (id) => set({ card: id }), () => set({ card: '' }, { replace: true })]
}

/** A gift card with its balance and movements, which editors can change. */
export const GiftCardSheet = ({ id, onClose }: { id: string | undefined; onClose: () => void }) => {
  const projectId = useProjectId()
  const card = useQuery({
    queryKey: [projectId, 'gift-card', id],
    queryFn: () =>
      unwrap(
        api.GET('/api/projects/{projectId}/coupons/{id}', { params: { path: { projectId, id: id ?? '' } } }),
      ),
    enabled: id !== undefined,
  })
  const { data } = card
  return (
    <Modal as="sheet" open={id !== undefined} onClose={onClose} title={data ? data.code : 'Gift card'}>
      {data?.balance ? (
        <GiftCardDetails card={{ ...data, balance: data.balance }} />
      ) : card.error ? (
        <ErrorState error={card.error} retry={() => void card.refetch()} />
      ) : (
        <SkeletonLines />
      )}
    </Modal>
  )
}

const GiftCardDetails = ({ card }: { card: GiftCard }) => {
  const { id, code, status, balance, heldUntil, createdAt, revokedAt } = card
  return (
    <div className="flex flex-col gap-5">
      <Facts
        rows={[
          ['Balance', <b key="b">{formatMoney(balance.amount, balance.currency)}</b>],
          ['Status', <Status key="s" status={status} />],
          [
            'Code',
            <span key="c" className="inline-flex flex-wrap items-center gap-2 font-mono">
              {code} <CopyButton text={code} />
            </span>,
          ],
          ['Held until', <Time key="h" at={heldUntil} />],
          ['Created', <Time key="t" at={createdAt} />],
          ...(revokedAt === null ? [] : [['Revoked', <Time key="r" at={revokedAt} />] as const]),
        ]}
      />
      <GiftCardActions card={card} />
      <Card title="Movements">
        <CardMovements key={id} card={card} />
      </Card>
    </div>
  )
}

/** What an editor can do with a gift card now. */
const GiftCardActions = ({ card }: { card: GiftCard }) => {
  const { id, code, status, balance } = card
  const mayEdit = useMay('editor')
  const [form, setForm] = useState<'top-up' | 'transfer'>()
  const close = () => setForm(undefined)
  const revoke = useRevoke('Card revoked')
  const isRevoked = status === 'revoked'
  if (!mayEdit || (isRevoked && balance.amount === 0)) return null
  return (
    <div className="flex flex-wrap gap-2">
      {!isRevoked && (
        <Button icon="plus" onClick={() => setForm('top-up')}>
          Top up
        </Button>
      )}
      {balance.amount > 0 && <Button onClick={() => setForm('transfer')}>Transfer</Button>}
      {!isRevoked && (
        <ConfirmButton
          label="Revoke"
          title={`Revoke ${code}?`}
          confirm="Revoke"
          onConfirm={() => revoke.mutateAsync(id)}
        >
          The card no longer pays, and what it holds can only be transferred to another card. This cannot be
          undone.
        </ConfirmButton>
      )}
      <Modal open={form === 'top-up'} onClose={close} title={`Top up ${code}`}>
        <TopUpCard card={card} onDone={close} />
      </Modal>
      <Modal open={form === 'transfer'} onClose={close} title={`Transfer from ${code}`}>
        <TransferCard card={card} onDone={close} />
      </Modal>
    </div>
  )
}

/** Revokes a code or a gift card by its id. */
export const useRevoke = (done: string) => {
  const projectId = useProjectId()
  return useChange(
    (id: string) =>
      unwrap(
        api.PATCH('/api/projects/{projectId}/coupons/{id}', {
          params: { path: { projectId, id } },
          body: { status: 'revoked' },
        }),
      ),
    { done, quiet: true },
  )
}
