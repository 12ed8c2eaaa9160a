import { useState } from 'react'
import { useChange } from '../api/change.ts'
import { api, unwrap } from '../api/client.ts'
import { useProjectId } from '../api/session.ts'
import type { Redemption } from '../api/types.ts'
import { Button } from '../ui/button.tsx'
import { Modal } from '../ui/dialog.tsx'
import { Form, Input, Select } from '../ui/form.tsx'
import { enteredAmount, formatMoney, minorUnitsOf, stepOf } from '../ui/money.ts'

/** The redemption of a cart, whose discount can be rolled back in part. */
type Granted = Redemption & { currency: string; discountAmount: number }

export const hasPartToRollBack = (redemption: Redemption): redemption is Granted =>
  redemption.rolledBackAt === null &&
  redemption.currency !== null &&
  (redemption.discountAmount ?? 0) > redemption.rolledBackAmount

/** What is rolled back in all. */
type Part = { amount: number } | { items: { sku: string; quantity: number }[] }

/** Rolls a part of a discount back: an amount, or the discounts of returned items. */
export const RollBackPart = ({ redemption }: { redemption: Granted }) => {
  const [open, setOpen] = useState(false)
  return (
    <>
      <Button small onClick={() => setOpen(true)}>
        Return a part
      </Button>
      <Modal
        open={open}
        onClose={() => setOpen(false)}
        title={`Return a part of ${redemption.code ?? 'a promotion'}`}
      >
        <PartForm redemption={redemption} onDone={() => setOpen(false)} />
      </Modal>
    </>
  )
}

const PartForm = ({ redemption, onDone }: { redemption: Granted; onDone: () => void }) => {
  const { id, currency, discountAmount, rolledBackAmount } = redemption
  const projectId = useProjectId()
  const lines = linesOf(redemption)
  const [by, setBy] = useState<'items' | 'amount'>(lines.length > 0 ? 'items' : 'amount')
  const [part, setPart] = useState<Part>()
  const rollBack = useChange(
    (body: Part) =>
      unwrap(
        api.POST('/api/projects/{projectId}/redemptions/{id}/rollback', {
          params: { path: { projectId, id } },
          body,
        }),
      ),
    {
      done: (changed) => `${formatMoney(changed.rolledBackAmount, currency)} were rolled back in all`,
      onDone,
      quiet: true,
    },
  )
  const partOf = (values: Record<string, string>): Part =>
    by === 'amount'
      ? { amount: minorUnitsOf(values.amount, currency) ?? 0 }
      : { items: lines.map(({ sku }, line) => ({ sku, quantity: Number(values[`units-${line}`]) })) }
  return (
    <>
      <div hidden={part !== undefined}>
        <Form submit="Continue" onCancel={onDone} onSubmit={(values) => setPart(partOf(values))}>
          <p className="text-muted">
            The discount was {formatMoney(discountAmount, currency)}, of which{' '}
            {formatMoney(rolledBackAmount, currency)} were rolled back before. Enter what is returned in all.
          </p>
          {lines.length > 0 && (
            <Select
              label="Returned"
              value={by}
              onChange={(event) => setBy(event.target.value === 'amount' ? 'amount' : 'items')}
              options={[
                ['items', 'Items'],
                ['amount', 'An amount'],
              ]}
            />
          )}
          {by === 'amount' ? (
            <Input
              label="Amount in all"
              name="amount"
              type="number"
              required
              min={enteredAmount(rolledBackAmount, currency)}
              max={enteredAmount(discountAmount, currency)}
              step={stepOf(currency)}
            />
          ) : (
            lines.map(({ sku, bought }, line) => (
              <Input
                key={sku}
                label={`Units of ${sku}`}
                name={`units-${line}`}
                type="number"
                required
                min={0}
                max={bought}
                defaultValue={0}
                hint={`${bought} bought`}
              />
            ))
          )}
        </Form>
      </div>
      {part && (
        <Form
          submit="Roll back"
          busy={rollBack.isPending}
          error={rollBack.error}
          onCancel={() => {
            rollBack.reset()
            setPart(undefined)
          }}
          onSubmit={() => rollBack.mutate(part)}
        >
          <p>
            {describe(part, currency)} are returned in all. Their discount returns to the budget, and the code
            stays redeemed.
          </p>
        </Form>
      )}
    </>
  )
}

const describe = (part: Part, currency: string): string =>
  'amount' in part
    ? formatMoney(part.amount, currency)
    : part.items.map(({ sku, quantity }) => `${quantity} × ${sku}`).join(', ')

/** The units of each SKU of a redemption. */
const linesOf = ({ items }: Granted): { sku: string; bought: number }[] => {
  const bySku = new Map<string, number>()
  for (const { sku, quantity } of items ?? []) bySku.set(sku, (bySku.get(sku) ?? 0) + quantity)
  return [...bySku].map(([sku, bought]) => ({ sku, bought }))
}
