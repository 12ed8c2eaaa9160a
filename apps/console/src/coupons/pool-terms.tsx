import { useMay } from '../api/session.ts'
import type { CouponPool } from '../api/types.ts'
import { useUrlDialog } from '../api/url-state.ts'
import { Button } from '../ui/button.tsx'
import { Card, Facts } from '../ui/card.tsx'
import { Modal } from '../ui/dialog.tsx'
import { formatNumber } from '../ui/format.tsx'
import { formatMoney } from '../ui/money.ts'
import { formatDiscount } from './discount.ts'
import { TermsForm } from './terms-form.tsx'
import { TryCart } from './try-cart.tsx'

/** What a pool grants, how much of its budget is used, and a cart to try it with. */
export const PoolTerms = ({ pool }: { pool: CouponPool }) => {
  const [dialog, openDialog, close] = useUrlDialog<'discount' | 'cart'>('viewer')
  const { discount, rules, stackable, priority, budgetAmount, budgetUsedAmount, status } = pool
  const mayEdit = useMay('editor') && status !== 'archived'
  const currency = discount.currency ?? budgetAmount?.currency ?? ''
  const amount = (value: number | undefined) =>
    value === undefined ? undefined : formatMoney(value, currency)
  const facts: (readonly [string, string | undefined])[] = [
    ['Discount', formatDiscount(discount)],
    ['At least', amount(rules?.minimumAmount)],
    ['At most', amount(rules?.maximumAmount)],
    ['Only SKUs', rules?.includedSkus?.join(', ')],
    ['Not SKUs', rules?.excludedSkus?.join(', ')],
    ['Only categories', rules?.includedCategories?.join(', ')],
    ['Not categories', rules?.excludedCategories?.join(', ')],
    ['First order', rules?.firstOrderOnly ? 'only' : undefined],
    ['Condition', rules?.condition && JSON.stringify(rules.condition)],
    ['Other coupons', stackable ? 'combines with those that do' : 'applies alone'],
    ['Priority', priority > 0 ? formatNumber(priority) : undefined],
  ]
  return (
    <Card
      title="Discount and rules"
      padded
      actions={
        <>
          <Button onClick={() => openDialog('cart')}>Try a cart</Button>
          {mayEdit && <Button onClick={() => openDialog('discount')}>Edit discount and rules</Button>}
        </>
      }
    >
      {budgetAmount && (
        <div className="mb-4 flex flex-col gap-1">
          <span id="budget" className="text-muted">
            {formatMoney(budgetUsedAmount, budgetAmount.currency)} of{' '}
            {formatMoney(budgetAmount.amount, budgetAmount.currency)} granted
          </span>
          <progress
            aria-labelledby="budget"
            value={Math.min(budgetUsedAmount, budgetAmount.amount)}
            max={Math.max(1, budgetAmount.amount)}
            className="h-2 w-full accent-accent"
          />
        </div>
      )}
      <Facts rows={facts.filter(([, value]) => value !== undefined)} />
      <Modal open={mayEdit && dialog === 'discount'} onClose={close} title="Discount and rules">
        <TermsForm pool={pool} onDone={close} onCancel={close} />
      </Modal>
      <Modal open={dialog === 'cart'} onClose={close} title="Try a cart" wide>
        <TryCart pool={pool} />
      </Modal>
    </Card>
  )
}
