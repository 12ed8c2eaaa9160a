import { useQuery } from '@tanstack/react-query'
import { useState } from 'react'
import { useChange } from '../api/change.ts'
import { api, unwrap } from '../api/client.ts'
import { readAll } from '../api/pages.ts'
import { useProjectId } from '../api/session.ts'
import type { GiftCard } from '../api/types.ts'
import { Form, Input } from '../ui/form.tsx'
import { enteredAmount, formatMoney, minorUnitsOf, stepOf } from '../ui/money.ts'
import { ErrorState, SkeletonLines } from '../ui/states.tsx'

/** Maximum balance of a gift card, in minor units. */
export const MAX_CARD_BALANCE = 100_000_000_000

type Values = Record<string, string>
type Props = { card: GiftCard; onDone: () => void }

const newKey = (): string =>
  Array.from(crypto.getRandomValues(new Uint8Array(16)), (byte) => byte.toString(16).padStart(2, '0')).join(
    '',
  )

/** The key of the movement of a form. A repeat after a lost answer has the same one, and so moves nothing. */
const useMovementKey = (): string => useState(newKey)[0]

const reasonOf = ({ reason = '' }: Values) => (reason.trim() === '' ? {} : { reason: reason.trim() })

const ReasonInput = () => (
  <Input label="Reason" name="reason" maxLength={500} hint="Shown with the movement. No personal data." />
)

/** Adds to the balance of a card. */
export const TopUpCard = ({ card: { id, balance }, onDone }: Props) => {
  const { amount: held, currency } = balance
  const projectId = useProjectId()
  const key = useMovementKey()
  const topUp = useChange(
    (values: Values) =>
      unwrap(
        api.POST('/api/projects/{projectId}/gift-cards/{id}/top-up', {
          params: { path: { projectId, id } },
          body: { amount: minorUnitsOf(values.amount, currency) ?? 0, key, ...reasonOf(values) },
        }),
      ),
    { done: 'Card topped up', quiet: true, onDone },
  )
  return (
    <Form
      submit="Top up"
      busy={topUp.isPending}
      error={topUp.error}
      names={['amount', 'reason']}
      onCancel={onDone}
      onSubmit={(values) => topUp.mutate(values)}
    >
      <p className="text-muted">The card holds {formatMoney(held, currency)}.</p>
      <Input
        label="Amount"
        name="amount"
        type="number"
        required
        min={stepOf(currency)}
        max={enteredAmount(MAX_CARD_BALANCE - held, currency)}
        step={stepOf(currency)}
        hint={`In ${currency}.`}
      />
      <ReasonInput />
    </Form>
  )
}

/** Moves the balance of a card, or a part of it, to another card. */
export const TransferCard = ({ card: { id, balance }, onDone }: Props) => {
  const { amount: held, currency } = balance
  const projectId = useProjectId()
  const key = useMovementKey()
  const transfer = useChange(
    (values: Values) =>
      unwrap(
        api.POST('/api/projects/{projectId}/gift-cards/{id}/transfer', {
          params: { path: { projectId, id } },
          body: {
            to: values.to?.trim() ?? '',
            amount: minorUnitsOf(values.amount, currency) ?? 0,
            key,
            ...reasonOf(values),
          },
        }),
      ),
    { done: 'Balance transferred', quiet: true, onDone },
  )
  return (
    <Form
      submit="Transfer"
      busy={transfer.isPending}
      error={transfer.error}
      names={['to', 'amount', 'reason']}
      onCancel={onDone}
      onSubmit={(values) => transfer.mutate(values)}
    >
      <Input
        label="To the card"
        name="to"
        required
        maxLength={200}
        hint={`The code of a card in ${currency}.`}
      />
      <Input
        label="Amount"
        name="amount"
        type="number"
        required
        min={stepOf(currency)}
        max={enteredAmount(held, currency)}
        step={stepOf(currency)}
        defaultValue={enteredAmount(held, currency)}
        hint={`The card holds ${formatMoney(held, currency)}.`}
      />
      <ReasonInput />
    </Form>
  )
}

/** Returns what a card paid for an order, or a part of it. */
export const RefundOrder = ({ card, orderId, onDone }: Props & { orderId: string }) => {
  const { id, balance } = card
  const { currency } = balance
  const projectId = useProjectId()
  const movements = useQuery({
    queryKey: [projectId, 'card-order', id, orderId],
    queryFn: () =>
      readAll((cursor) =>
        unwrap(
          api.GET('/api/projects/{projectId}/gift-cards/movements', {
            params: { path: { projectId }, query: { couponId: id, orderId, limit: 100, ...cursor } },
          }),
        ),
      ),
  })
  const refund = useChange(
    (values: Values) =>
      unwrap(
        api.POST('/api/projects/{projectId}/gift-cards/{id}/refund', {
          params: { path: { projectId, id } },
          body: { orderId, amount: minorUnitsOf(values.amount, currency) ?? 0, ...reasonOf(values) },
        }),
      ),
    { done: 'Order refunded to the card', quiet: true, onDone },
  )
  if (movements.error) return <ErrorState error={movements.error} retry={() => void movements.refetch()} />
  if (!movements.data) return <SkeletonLines />
  const sumOf = (wanted: string) =>
    movements.data.reduce((sum, { kind, amount }) => (kind === wanted ? sum + Math.abs(amount) : sum), 0)
  const [spent, refunded] = [sumOf('spent'), sumOf('refunded')]
  const isWhole = refunded === spent
  return (
    <Form
      submit={isWhole ? undefined : 'Refund'}
      busy={refund.isPending}
      error={refund.error}
      names={['amount', 'reason']}
      onCancel={onDone}
      onSubmit={(values) => refund.mutate(values)}
    >
      <p className="text-muted">
        The card paid {formatMoney(spent, currency)} for the order, of which {formatMoney(refunded, currency)}{' '}
        were refunded before.
        {!isWhole && ' Enter what is refunded in all.'}
      </p>
      {!isWhole && (
        <>
          <Input
            label="Amount in all"
            name="amount"
            type="number"
            required
            min={enteredAmount(refunded + 1, currency)}
            max={enteredAmount(spent, currency)}
            step={stepOf(currency)}
            defaultValue={enteredAmount(spent, currency)}
            hint={`In ${currency}.`}
          />
          <ReasonInput />
        </>
      )}
    </Form>
  )
}
