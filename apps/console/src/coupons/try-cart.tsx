import { useState } from 'react'
import { useChange } from '../api/change.ts'
import { api, unwrap } from '../api/client.ts'
import { useProjectId } from '../api/session.ts'
import type { CouponPool } from '../api/types.ts'
import { Button } from '../ui/button.tsx'
import { Form, Input } from '../ui/form.tsx'
import { formatMoney, minorUnitsOf, stepOf } from '../ui/money.ts'
import { Notice } from '../ui/states.tsx'

const MAX_LINES = 200

/** Shows what a coupon of the pool would grant for a cart. */
export const TryCart = ({ pool }: { pool: CouponPool }) => {
  const projectId = useProjectId()
  const [lines, setLines] = useState<readonly number[]>([0])
  const [currency, setCurrency] = useState(pool.discount.currency ?? pool.budgetAmount?.currency ?? 'EUR')
  const preview = useChange(
    async ({ values, currency }: { values: Record<string, string>; currency: string }) => {
      const shippingAmount = minorUnitsOf(values.shipping, currency)
      const items = lines.map((line) => ({
        sku: values[`sku-${line}`]?.trim() ?? '',
        ...(values[`category-${line}`]?.trim() && { category: values[`category-${line}`]?.trim() ?? '' }),
        quantity: Number(values[`quantity-${line}`]),
        unitAmount: minorUnitsOf(values[`price-${line}`], currency) ?? 0,
      }))
      const body = {
        currency,
        items,
        ...(shippingAmount !== undefined && { shippingAmount }),
        ...(values.userId?.trim() && { userId: values.userId.trim() }),
      }
      const params = { path: { projectId, id: pool.id } }
      return unwrap(api.POST('/api/projects/{projectId}/coupon-pools/{id}/preview', { params, body }))
    },
    { quiet: true },
  )
  const { data, variables } = preview
  const money = (amount: number) => formatMoney(amount, variables?.currency ?? currency)
  return (
    <Form
      submit="Compute the discount"
      busy={preview.isPending}
      error={preview.error}
      onSubmit={(values) => preview.mutate({ values, currency })}
    >
      {lines.map((line, index) => (
        <fieldset key={line} className="grid grid-cols-2 items-end gap-3 sm:grid-cols-[2fr_2fr_1fr_1fr_auto]">
          <legend className="mb-1 text-muted">Item {index + 1}</legend>
          <Input label="SKU" name={`sku-${line}`} required maxLength={200} />
          <Input label="Category" name={`category-${line}`} maxLength={200} />
          <Input label="Quantity" name={`quantity-${line}`} type="number" min={1} required defaultValue={1} />
          <Input
            label="Unit price"
            name={`price-${line}`}
            type="number"
            min={0}
            step={stepOf(currency)}
            required
          />
          {lines.length > 1 && (
            <Button
              aria-label={`Remove item ${index + 1}`}
              onClick={() => setLines(lines.filter((one) => one !== line))}
            >
              Remove
            </Button>
          )}
        </fieldset>
      ))}
      <div>
        <Button
          icon="plus"
          disabled={lines.length >= MAX_LINES}
          onClick={() => setLines([...lines, Math.max(...lines) + 1])}
        >
          Add item
        </Button>
      </div>
      <div className="grid gap-3 sm:grid-cols-3">
        <Input
          label="Currency"
          required
          pattern="[A-Za-z]{3}"
          value={currency}
          onChange={(event) => setCurrency(event.target.value.toUpperCase())}
        />
        <Input label="Shipping" name="shipping" type="number" min={0} step={stepOf(currency)} />
        <Input label="User id" name="userId" maxLength={200} />
      </div>
      <div aria-live="polite">
        {data && !data.valid && <Notice tone="warning">{data.message}</Notice>}
        {data?.valid && (
          <Notice tone="success">
            {[
              `Discount: ${money(data.discountAmount)}`,
              ...data.items.map(({ sku, discountAmount }) => `${sku}: ${money(discountAmount)}`),
              ...(data.shippingDiscountAmount > 0 ? [`Shipping: ${money(data.shippingDiscountAmount)}`] : []),
            ].join('\n')}
          </Notice>
        )}
      </div>
    </Form>
  )
}
