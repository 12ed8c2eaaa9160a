import { useState } from 'react'
import { useChange } from '../api/change.ts'
import { api, unwrap } from '../api/client.ts'
import { useProjectId } from '../api/session.ts'
import type { CouponPool } from '../api/types.ts'
import { Form, fromLocalInput, Input, LOCAL_TIME_HINT, Select } from '../ui/form.tsx'
import { digitsOf } from '../ui/format.tsx'

/** Creates a pool. */
export const PoolForm = ({
  onDone,
  onCancel,
}: {
  onDone: (pool: CouponPool) => void
  onCancel: () => void
}) => {
  const projectId = useProjectId()
  const [kind, setKind] = useState<'unique' | 'shared'>('unique')
  const [type, setType] = useState('percent')
  const [currency, setCurrency] = useState('EUR')
  const create = useChange(
    (values: Record<string, string>) =>
      unwrap(
        api.POST('/api/projects/{projectId}/coupon-pools', {
          params: { path: { projectId } },
          body: {
            name: values.name ?? '',
            kind,
            ...(kind === 'unique' ? { size: Number(values.size) } : { code: values.code ?? '' }),
            ...(kind === 'unique' && values.prefix && { prefix: values.prefix }),
            discount:
              type === 'percent'
                ? { type, value: Number(values.value) }
                : type === 'amount'
                  ? {
                      type,
                      value: Math.round(Number(values.value) * 10 ** digitsOf(currency)),
                      currency: currency.toUpperCase(),
                    }
                  : { type },
            expiresAt: fromLocalInput(values.expiresAt),
            perProfileLimit: values.perProfileLimit ? Number(values.perProfileLimit) : null,
            ...(kind === 'shared' && {
              maxRedemptions: values.maxRedemptions ? Number(values.maxRedemptions) : null,
            }),
          },
        }),
      ),
    { done: 'Pool created', quiet: true, onDone },
  )
  return (
    <Form
      submit="Create pool"
      busy={create.isPending}
      error={create.error}
      names={['name', 'size', 'code', 'prefix', 'expiresAt', 'perProfileLimit', 'maxRedemptions']}
      onCancel={onCancel}
      onSubmit={(values) => create.mutate(values)}
    >
      <Input label="Name" name="name" required maxLength={200} placeholder="Autumn sale" />
      <Select
        label="Codes"
        value={kind}
        onChange={(event) => setKind(event.target.value === 'shared' ? 'shared' : 'unique')}
        options={[
          ['unique', 'A code of their own for each person'],
          ['shared', 'One code for everyone'],
        ]}
      />
      <div className="grid gap-4 sm:grid-cols-2">
        {kind === 'unique' ? (
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
            <Input label="Prefix" name="prefix" maxLength={20} placeholder="AUTUMN" />
          </>
        ) : (
          <>
            <Input label="Code" name="code" required maxLength={200} placeholder="AUTUMN20" />
            <Input label="Redemptions at most" name="maxRedemptions" type="number" min={1} />
          </>
        )}
        <Select
          label="Discount"
          value={type}
          onChange={(event) => setType(event.target.value)}
          options={[
            ['percent', 'Percent'],
            ['amount', 'Amount'],
            ['free_shipping', 'Free shipping'],
          ]}
        />
        {type === 'percent' && (
          <Input
            label="Percent"
            name="value"
            type="number"
            min={0}
            max={100}
            step="0.1"
            required
            defaultValue={10}
          />
        )}
        {type === 'amount' && (
          <>
            <Input
              label="Amount"
              name="value"
              type="number"
              min={0}
              step={10 ** -digitsOf(currency)}
              required
              defaultValue={5}
            />
            <Input
              label="Currency"
              name="currency"
              required
              pattern="[A-Za-z]{3}"
              value={currency}
              onChange={(event) => setCurrency(event.target.value)}
            />
          </>
        )}
        <Input label="Expires" name="expiresAt" type="datetime-local" hint={LOCAL_TIME_HINT} />
        <Input label="Limit per person" name="perProfileLimit" type="number" min={1} />
      </div>
    </Form>
  )
}
