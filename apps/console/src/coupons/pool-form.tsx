import { useState } from 'react'
import { useChange } from '../api/change.ts'
import { api, unwrap } from '../api/client.ts'
import { useProjectId } from '../api/session.ts'
import type { CouponPool } from '../api/types.ts'
import { editedTime, Form, Input, LOCAL_TIME_HINT, Select, toLocalInput } from '../ui/form.tsx'
import { enteredAmount, minorUnitsOf, stepOf } from '../ui/money.ts'
import { SIMPLE_DISCOUNTS } from './discount.ts'
import { MAX_CARD_BALANCE } from './move-money.tsx'

const KINDS = [
  ['unique', 'A code of their own for each person'],
  ['shared', 'One code for everyone'],
  ['automatic', 'No code: it applies by itself'],
  ['balance', 'Gift cards: codes that hold money'],
] as const

/** Creates a pool, or changes the name, times and limits of one. */
export const PoolForm = ({
  pool,
  onDone,
  onCancel,
}: {
  pool?: CouponPool
  onDone: (pool: CouponPool) => void
  onCancel: () => void
}) => {
  const projectId = useProjectId()
  const [kind, setKind] = useState<CouponPool['kind']>(pool?.kind ?? 'unique')
  const [type, setType] = useState('percent')
  const [currency, setCurrency] = useState('EUR')
  const isCards = kind === 'balance'
  const isGenerated = kind === 'unique' || isCards
  const discountOf = (value = '') => ({
    type,
    ...(type === 'percent' && { value: Number(value) }),
    ...(type === 'amount' && {
      value: minorUnitsOf(value, currency) ?? 0,
      currency: currency.toUpperCase(),
    }),
  })
  const save = useChange(
    async (values: Record<string, string>): Promise<CouponPool> => {
      const terms = {
        name: values.name ?? '',
        startsAt: editedTime(values.startsAt, pool?.startsAt),
        expiresAt: editedTime(values.expiresAt, pool?.expiresAt),
        ...(!isCards && {
          perProfileLimit: values.perProfileLimit ? Number(values.perProfileLimit) : null,
          maxRedemptions: values.maxRedemptions ? Number(values.maxRedemptions) : null,
        }),
      }
      if (pool)
        return unwrap(
          api.PATCH('/api/projects/{projectId}/coupon-pools/{id}', {
            params: { path: { projectId, id: pool.id } },
            body: terms,
          }),
        )
      return unwrap(
        api.POST('/api/projects/{projectId}/coupon-pools', {
          params: { path: { projectId } },
          body: {
            ...terms,
            kind,
            ...(isCards
              ? { amount: minorUnitsOf(values.amount, currency) ?? 0, currency }
              : { discount: discountOf(values.value) }),
            ...(isGenerated && { size: Number(values.size) }),
            ...(kind === 'shared' && { code: values.code ?? '' }),
            ...(isGenerated && values.prefix && { prefix: values.prefix }),
          },
        }),
      ) as Promise<CouponPool>
    },
    { done: pool ? 'Pool saved' : 'Pool created', quiet: true, onDone },
  )
  return (
    <Form
      submit={pool ? 'Save' : 'Create pool'}
      busy={save.isPending}
      error={save.error}
      names={[
        ...['name', 'size', 'code', 'prefix', 'startsAt', 'expiresAt', 'perProfileLimit', 'maxRedemptions'],
        ...(isCards ? ['amount', 'currency'] : []),
      ]}
      onCancel={onCancel}
      onSubmit={(values) => save.mutate(values)}
    >
      <Input
        label="Name"
        name="name"
        required
        maxLength={200}
        placeholder="Autumn sale"
        defaultValue={pool?.name}
      />
      {!pool && (
        <Select
          label="Codes"
          value={kind}
          onChange={({ target }) => setKind(KINDS.find(([one]) => one === target.value)?.[0] ?? 'unique')}
          options={KINDS}
        />
      )}
      {!pool && (
        <div className="grid gap-4 sm:grid-cols-2">
          {isGenerated && (
            <>
              <Input
                label="How many"
                name="size"
                type="number"
                min={1}
                max={100_000_000}
                required
                defaultValue={1000}
              />
              <Input label="Prefix" name="prefix" maxLength={20} placeholder={isCards ? 'GIFT' : 'AUTUMN'} />
            </>
          )}
          {kind === 'shared' && (
            <Input
              label="Code"
              name="code"
              required
              maxLength={200}
              placeholder="AUTUMN20"
              className="sm:col-span-2"
            />
          )}
          {!isCards && (
            <Select
              label="Discount"
              value={type}
              onChange={(event) => setType(event.target.value)}
              options={SIMPLE_DISCOUNTS}
            />
          )}
          {!isCards && type === 'percent' && (
            <Input
              label="Percent"
              name="value"
              type="number"
              min={0}
              max={100}
              step="any"
              required
              defaultValue={10}
            />
          )}
          {isCards && (
            <Input
              label="Amount of each card"
              name="amount"
              type="number"
              min={stepOf(currency)}
              max={enteredAmount(MAX_CARD_BALANCE, currency)}
              step={stepOf(currency)}
              required
              defaultValue={50}
            />
          )}
          {!isCards && type === 'amount' && (
            <Input
              label="Amount"
              name="value"
              type="number"
              min={0}
              step={stepOf(currency)}
              required
              defaultValue={5}
            />
          )}
          {(isCards || type === 'amount') && (
            <Input
              label="Currency"
              name="currency"
              required
              pattern="[A-Za-z]{3}"
              value={currency}
              onChange={(event) => setCurrency(event.target.value.toUpperCase())}
            />
          )}
        </div>
      )}
      <div className="grid gap-4 sm:grid-cols-2">
        <Input
          label="Starts"
          name="startsAt"
          type="datetime-local"
          hint={LOCAL_TIME_HINT}
          defaultValue={toLocalInput(pool?.startsAt)}
        />
        <Input
          label="Expires"
          name="expiresAt"
          type="datetime-local"
          hint={LOCAL_TIME_HINT}
          defaultValue={toLocalInput(pool?.expiresAt)}
        />
        {!isCards && (
          <>
            <Input
              label="Limit per person"
              name="perProfileLimit"
              type="number"
              min={1}
              defaultValue={pool?.perProfileLimit ?? ''}
            />
            <Input
              label="Redemptions at most"
              name="maxRedemptions"
              type="number"
              min={1}
              defaultValue={pool?.maxRedemptions ?? ''}
            />
          </>
        )}
      </div>
    </Form>
  )
}
