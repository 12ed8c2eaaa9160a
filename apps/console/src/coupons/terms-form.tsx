import { useState } from 'react'
import { useChange } from '../api/change.ts'
import { api, unwrap } from '../api/client.ts'
import { useProjectId } from '../api/session.ts'
import type { CouponPool } from '../api/types.ts'
import { Form, Input, Select, Switch, TextArea } from '../ui/form.tsx'
import { enteredAmount, minorUnitsOf, stepOf } from '../ui/money.ts'
import { parseEnteredJson } from '../ui/parse-entered-json.ts'
import { DISCOUNTS } from './discount.ts'

type Discount = CouponPool['discount']
type Rules = NonNullable<CouponPool['rules']>
type Values = Record<string, string>

const LISTS = [
  ['includedSkus', 'Only these SKUs'],
  ['excludedSkus', 'Not these SKUs'],
  ['includedCategories', 'Only these categories'],
  ['excludedCategories', 'Not these categories'],
] as const

/** Changes what a pool grants: its discount, rules and budget. */
export const TermsForm = ({
  pool,
  onDone,
  onCancel,
}: {
  pool: CouponPool
  onDone: () => void
  onCancel: () => void
}) => {
  const projectId = useProjectId()
  const { discount, rules, budgetAmount } = pool
  const [type, setType] = useState(discount.type)
  const [currency, setCurrency] = useState(discount.currency ?? budgetAmount?.currency ?? 'EUR')
  const [stackable, setStackable] = useState(pool.stackable)
  const [firstOrderOnly, setFirstOrderOnly] = useState(rules?.firstOrderOnly ?? false)
  const isKnown = DISCOUNTS.some(([one]) => one === type)
  const save = useChange(
    async (values: Values) => {
      const body = {
        ...(isKnown && { discount: discountOf(discount, type, currency, values) }),
        rules: rulesOf(values, currency, firstOrderOnly),
        stackable,
        priority: Number(values.priority),
        budgetAmount: budgetOf(values, currency),
      }
      const params = { path: { projectId, id: pool.id } }
      return unwrap(api.PATCH('/api/projects/{projectId}/coupon-pools/{id}', { params, body }))
    },
    { done: 'Pool saved', quiet: true, onDone },
  )
  const amount = (name: string, label: string, value: number | undefined, hint?: string) => (
    <Input
      label={label}
      name={name}
      type="number"
      min={0}
      step={stepOf(currency)}
      defaultValue={enteredAmount(value, currency)}
      {...(hint && { hint })}
    />
  )
  return (
    <Form
      submit="Save"
      busy={save.isPending}
      error={save.error}
      onCancel={onCancel}
      onSubmit={(values) => save.mutate(values)}
    >
      <div className="grid gap-4 sm:grid-cols-2">
        <Select
          label="Discount"
          value={type}
          onChange={(event) => setType(event.target.value)}
          options={[...DISCOUNTS, ...(isKnown ? [] : [[type, type] as const])]}
        />
        <Input
          label="Currency"
          required
          pattern="[A-Za-z]{3}"
          value={currency}
          onChange={(event) => setCurrency(event.target.value.toUpperCase())}
          hint="Of all amounts here."
        />
        {type === 'percent' && (
          <Input
            label="Percent"
            name="percent"
            type="number"
            min={0}
            max={100}
            step="any"
            required
            defaultValue={discount.type === 'percent' ? discount.value : 10}
          />
        )}
        {type === 'amount' && (
          <Input
            label="Amount"
            name="amount"
            type="number"
            min={0}
            step={stepOf(currency)}
            required
            defaultValue={enteredAmount(discount.type === 'amount' ? discount.value : 500, currency)}
          />
        )}
        {(type === 'percent' || type === 'free_shipping') &&
          amount('maxAmount', 'Largest discount', discount.maxAmount, 'Left empty, there is no limit.')}
        {type === 'buy_x_get_y' &&
          (['buyQuantity', 'getQuantity'] as const).map((name) => (
            <Input
              key={name}
              label={name === 'buyQuantity' ? 'Units to buy' : 'Units that are free'}
              name={name}
              type="number"
              min={1}
              max={10_000}
              required
              defaultValue={discount[name] ?? 1}
            />
          ))}
        {amount('minimumAmount', 'Minimum of the cart', rules?.minimumAmount)}
        {amount('maximumAmount', 'Maximum of the cart', rules?.maximumAmount)}
        {LISTS.map(([name, label]) => (
          <TextArea
            key={name}
            label={label}
            name={name}
            rows={2}
            hint="One a line."
            defaultValue={rules?.[name]?.join('\n') ?? ''}
          />
        ))}
      </div>
      <Switch label="Only for a first order" checked={firstOrderOnly} onChange={setFirstOrderOnly} />
      <TextArea
        label="Condition"
        name="condition"
        code
        rows={2}
        placeholder='{"==": [{"var": "traits.plan"}, "pro"]}'
        hint='JsonLogic over the traits of the person, or {"segment": "key"}. Left empty, everybody may redeem.'
        defaultValue={rules?.condition ? JSON.stringify(rules.condition) : ''}
      />
      <Switch label="Combines with other coupons that do" checked={stackable} onChange={setStackable} />
      <Input
        label="Priority"
        name="priority"
        type="number"
        min={0}
        max={1_000}
        required
        defaultValue={pool.priority}
        hint="Of several for a cart, the higher one applies first."
      />
      {amount(
        'budget',
        'Budget',
        budgetAmount?.amount,
        'What all discounts together may amount to. Left empty, there is no limit.',
      )}
    </Form>
  )
}

const discountOf = (before: Discount, type: string, currency: string, values: Values): Discount => {
  const maxAmount = minorUnitsOf(values.maxAmount, currency)
  const needsCurrency =
    type === 'amount' || maxAmount !== undefined || Boolean(values.minimumAmount || values.maximumAmount)
  return {
    type,
    ...(before.data && { data: before.data }),
    ...(type === 'percent' && { value: Number(values.percent) }),
    ...(type === 'amount' && { value: minorUnitsOf(values.amount, currency) ?? 0 }),
    ...(type === 'buy_x_get_y' && {
      buyQuantity: Number(values.buyQuantity),
      getQuantity: Number(values.getQuantity),
    }),
    ...(maxAmount !== undefined && { maxAmount }),
    ...((needsCurrency || before.currency !== undefined) && { currency }),
  }
}

const rulesOf = (values: Values, currency: string, firstOrderOnly: boolean): Rules | null => {
  const minimumAmount = minorUnitsOf(values.minimumAmount, currency)
  const maximumAmount = minorUnitsOf(values.maximumAmount, currency)
  const { condition = '' } = values
  const rules: Rules = {
    ...Object.fromEntries(
      LISTS.map(([name]) => [name, linesOf(values[name])] as const).filter(([, lines]) => lines.length > 0),
    ),
    ...(minimumAmount !== undefined && { minimumAmount }),
    ...(maximumAmount !== undefined && { maximumAmount }),
    ...(firstOrderOnly && { firstOrderOnly }),
    ...(condition.trim() && {
      condition: parseEnteredJson(condition, 'The condition') as Record<string, unknown>,
    }),
  }
  return Object.keys(rules).length === 0 ? null : rules
}

const budgetOf = (values: Values, currency: string): CouponPool['budgetAmount'] => {
  const amount = minorUnitsOf(values.budget, currency)
  return amount === undefined ? null : { amount, currency }
}

const linesOf = (text = ''): string[] =>
  text
    .split('\n')
    .map((line) => line.trim())
    .filter((line) => line !== '')
