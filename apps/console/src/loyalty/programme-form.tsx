import { useState } from 'react'
import { useChange } from '../api/change.ts'
import { api, unwrap } from '../api/client.ts'
import { useProjectId } from '../api/session.ts'
import type { LoyaltyProgramme } from '../api/types.ts'
import { useSegmentChoices, useSelectorChoices } from '../decisions/choices.ts'
import { Button } from '../ui/button.tsx'
import { Choose } from '../ui/choose.tsx'
import { Form, Input, Select } from '../ui/form.tsx'
import { Icon } from '../ui/icon.tsx'
import { enteredAmount, minorUnitsOf, stepOf } from '../ui/money.ts'

/** Maximum rules and tiers of a programme, points of a field, and months. */
const MAX_PARTS = 20
const MAX_POINTS = 1_000_000_000
const MAX_MONTHS = 120

type Values = Record<string, string>
/** A rule while it is edited. `id` is only of this form. */
type RuleDraft = {
  id: number
  selectorId: string
  points: string
  per: string
  currency: string
  order: string
}
type TierDraft = { id: number; key: string; name: string; points: string; segment: string }

let lastId = 0
const newId = (): number => ++lastId

/** The currency of most amounts of a programme. */
const currencyOf = ({ spending, rules }: Pick<LoyaltyProgramme, 'spending' | 'rules'>): string =>
  spending?.currency ?? rules.find(({ currency }) => currency !== undefined)?.currency ?? 'EUR'

/** The currency of a field, while it is complete. */
const moneyOf = (text: string): string => (/^[A-Za-z]{3}$/.test(text) ? text.toUpperCase() : 'EUR')

const rulesOf = (drafts: readonly RuleDraft[]) =>
  drafts.map(({ selectorId, points, per, currency, order }) => {
    const perAmount = minorUnitsOf(per, currency)
    return {
      selectorId,
      points: Number(points),
      ...(perAmount !== undefined && { perAmount, currency }),
      ...(order.trim() !== '' && { orderProperty: order.trim() }),
    }
  })

const tiersOf = (drafts: readonly TierDraft[]) =>
  drafts.map(({ key, name, points, segment }) => ({
    key: key.trim(),
    name: name.trim(),
    ...(segment === '' ? { points: Number(points) } : { segment }),
  }))

const spendingOf = ({ worthPoints = '', worth = '', minimum = '' }: Values, currency: string) => {
  const amount = minorUnitsOf(worth, currency)
  if (amount === undefined || worthPoints === '') return null
  return {
    points: Number(worthPoints),
    amount,
    currency,
    ...(minimum !== '' && { minimum: Number(minimum) }),
  }
}

/** Creates a programme, or changes one. Rules in another currency than the programme keep theirs. */
export const ProgrammeForm = ({
  programme,
  onDone,
  onCancel,
}: {
  programme?: LoyaltyProgramme
  onDone: (saved: { key: string }) => void
  onCancel: () => void
}) => {
  const projectId = useProjectId()
  const [currency, setCurrency] = useState(programme ? currencyOf(programme) : 'EUR')
  const [rules, setRules] = useState<readonly RuleDraft[]>(() =>
    (programme?.rules ?? []).map(
      ({ selectorId, points, perAmount, currency: own = currency, orderProperty = '' }) => ({
        id: newId(),
        selectorId,
        points: `${points}`,
        per: enteredAmount(perAmount, own),
        currency: own,
        order: orderProperty,
      }),
    ),
  )
  const [tiers, setTiers] = useState<readonly TierDraft[]>(() =>
    (programme?.tiers ?? []).map(({ key, name, points, segment = '' }) => ({
      id: newId(),
      key,
      name,
      points: points === undefined ? '' : `${points}`,
      segment,
    })),
  )
  const money = moneyOf(currency)
  const changeCurrency = (text: string) => {
    setCurrency(text)
    const next = moneyOf(text)
    setRules(rules.map((rule) => (rule.currency === money ? { ...rule, currency: next } : rule)))
  }
  const save = useChange(
    async ({
      key = '',
      name = '',
      months = '',
      status = 'active',
      ...values
    }: Values): Promise<{ key: string }> => {
      const body = {
        name: name.trim(),
        status: status as 'active' | 'paused',
        expiryMonths: months === '' ? null : Number(months),
        rules: rulesOf(rules),
        spending: spendingOf(values, money),
        tiers: tiersOf(tiers),
      }
      return programme
        ? unwrap(
            api.PATCH('/api/projects/{projectId}/loyalty-programmes/{key}', {
              params: { path: { projectId, key: programme.key } },
              body,
            }),
          )
        : (unwrap(
            api.POST('/api/projects/{projectId}/loyalty-programmes', {
              params: { path: { projectId } },
              body: { key: key.trim(), ...body },
            }),
          ) as Promise<{ key: string }>)
    },
    { quiet: true, onDone, done: 'Programme saved' },
  )
  const { spending = null } = programme ?? {}
  return (
    <Form
      submit={programme ? 'Save' : 'Create programme'}
      busy={save.isPending}
      error={save.error}
      names={['key', 'name', 'months']}
      onSubmit={(values) => save.mutate(values)}
      onCancel={onCancel}
    >
      {!programme && (
        <Input
          label="Key"
          name="key"
          required
          maxLength={100}
          placeholder="club"
          hint="What requests refer to. It stays."
        />
      )}
      <Input
        label="Name"
        name="name"
        required
        maxLength={200}
        placeholder="Club"
        defaultValue={programme?.name}
      />
      <div className="grid gap-4 sm:grid-cols-3">
        <Select
          label="Status"
          name="status"
          defaultValue={programme?.status ?? 'active'}
          options={[
            ['active', 'active'],
            ['paused', 'paused'],
          ]}
        />
        <Input
          label="Months until points expire"
          name="months"
          type="number"
          min={1}
          max={MAX_MONTHS}
          hint="Empty: never."
          defaultValue={programme?.expiryMonths ?? ''}
        />
        <Input
          label="Currency"
          required
          maxLength={3}
          pattern="[A-Za-z]{3}"
          value={currency}
          onChange={({ target }) => changeCurrency(target.value)}
        />
      </div>
      <RuleFields rules={rules} currency={money} onChange={setRules} />
      <fieldset className="flex flex-col gap-2">
        <legend className="font-medium">What points are worth</legend>
        <div className="grid gap-2 sm:grid-cols-3">
          <Input
            label="Points"
            name="worthPoints"
            type="number"
            min={1}
            max={MAX_POINTS}
            hint="Empty: they are not spent."
            defaultValue={spending?.points ?? ''}
          />
          <Input
            label={`Amount in ${money}`}
            name="worth"
            type="number"
            min={stepOf(money)}
            step={stepOf(money)}
            defaultValue={enteredAmount(spending?.amount, money)}
          />
          <Input
            label="Minimum of an order"
            name="minimum"
            type="number"
            min={1}
            max={MAX_POINTS}
            hint="In points."
            defaultValue={spending?.minimum ?? ''}
          />
        </div>
      </fieldset>
      <TierFields tiers={tiers} onChange={setTiers} />
    </Form>
  )
}

const Parts = ({ legend, children }: { legend: string; children: React.ReactNode }) => (
  <fieldset className="flex flex-col gap-2">
    <legend className="mb-1 font-medium">{legend}</legend>
    {children}
  </fieldset>
)

const Remove = ({ label, onClick }: { label: string; onClick: () => void }) => (
  <button
    type="button"
    aria-label={label}
    onClick={onClick}
    className="justify-self-end rounded-lg p-2.5 text-muted hover:bg-subtle hover:text-text"
  >
    <Icon name="x" />
  </button>
)

const RuleFields = ({
  rules,
  currency,
  onChange,
}: {
  rules: readonly RuleDraft[]
  currency: string
  onChange: (rules: readonly RuleDraft[]) => void
}) => {
  const selectors = useSelectorChoices()
  return (
    <Parts legend="Earning rules">
      {rules.map((rule, index) => {
        const change = (part: Partial<RuleDraft>) => onChange(rules.with(index, { ...rule, ...part }))
        return (
          <div
            key={rule.id}
            className="grid items-end gap-2 rounded-lg bg-subtle/60 p-2.5 sm:grid-cols-[2fr_1fr_1fr_1fr_auto]"
          >
            <Choose
              label="Conversion"
              value={rule.selectorId}
              choices={selectors}
              placeholder="A metering selector"
              onChange={(selectorId) => change({ selectorId })}
            />
            <Input
              label="Points"
              type="number"
              required
              min={1}
              max={MAX_POINTS}
              value={rule.points}
              onChange={({ target }) => change({ points: target.value })}
            />
            <Input
              label={`Per ${rule.currency}`}
              type="number"
              placeholder="any amount"
              min={stepOf(rule.currency)}
              step={stepOf(rule.currency)}
              value={rule.per}
              onChange={({ target }) => change({ per: target.value })}
            />
            <Input
              label="Order property"
              placeholder="orderId"
              maxLength={200}
              value={rule.order}
              onChange={({ target }) => change({ order: target.value })}
            />
            <Remove label={`Remove rule ${index + 1}`} onClick={() => onChange(rules.toSpliced(index, 1))} />
          </div>
        )
      })}
      {rules.length < MAX_PARTS && (
        <div>
          <Button
            small
            look="quiet"
            icon="plus"
            onClick={() =>
              onChange([...rules, { id: newId(), selectorId: '', points: '1', per: '', currency, order: '' }])
            }
          >
            Add rule
          </Button>
        </div>
      )}
    </Parts>
  )
}

const TierFields = ({
  tiers,
  onChange,
}: {
  tiers: readonly TierDraft[]
  onChange: (tiers: readonly TierDraft[]) => void
}) => {
  const segments = useSegmentChoices()
  return (
    <Parts legend="Tiers, from the lowest to the highest">
      {tiers.map((tier, index) => {
        const change = (part: Partial<TierDraft>) => onChange(tiers.with(index, { ...tier, ...part }))
        return (
          <div
            key={tier.id}
            className="grid items-end gap-2 rounded-lg bg-subtle/60 p-2.5 sm:grid-cols-[1fr_1fr_1fr_1fr_auto]"
          >
            <Input
              label="Tier key"
              required
              maxLength={100}
              value={tier.key}
              onChange={({ target }) => change({ key: target.value })}
            />
            <Input
              label="Tier name"
              required
              maxLength={200}
              value={tier.name}
              onChange={({ target }) => change({ name: target.value })}
            />
            <Select
              label="For people"
              value={tier.segment}
              options={[['', 'by points'], ...segments.map(([key, name]) => [key, `in ${name}`] as const)]}
              onChange={({ target }) => change({ segment: target.value })}
            />
            {tier.segment === '' ? (
              <Input
                label="Points earned"
                type="number"
                required
                min={0}
                value={tier.points}
                onChange={({ target }) => change({ points: target.value })}
              />
            ) : (
              <span />
            )}
            <Remove label={`Remove tier ${index + 1}`} onClick={() => onChange(tiers.toSpliced(index, 1))} />
          </div>
        )
      })}
      {tiers.length < MAX_PARTS && (
        <div>
          <Button
            small
            look="quiet"
            icon="plus"
            onClick={() => onChange([...tiers, { id: newId(), key: '', name: '', points: '', segment: '' }])}
          >
            Add tier
          </Button>
        </div>
      )}
    </Parts>
  )
}
