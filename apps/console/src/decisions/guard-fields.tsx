import { Button } from '../ui/button.tsx'
import { NumberInput, Select } from '../ui/form.tsx'
import { type Draft, type GuardAction, metricKeyOf, newGuard } from './draft.ts'
import { guardSentence } from './guard-sentence.ts'

type Rule = Draft['rules'][number]
type Guard = Rule['guards'][number]

/** The guards of a rule, each with a sentence that says what will happen. */
export const GuardFields = ({
  rule,
  number,
  variants,
  fallbackVariant,
  metrics,
  onChange,
}: Pick<Draft, 'variants' | 'fallbackVariant' | 'metrics'> & {
  rule: Rule
  number: number
  onChange: (part: Partial<Rule>) => void
}) => {
  const { guards, ramp, variant } = rule
  const hasRamp = ramp.length > 0
  // Guards compare variants, so they need a ramp or a split.
  if (guards.length === 0 && ((!hasRamp && variant !== '') || metrics.length === 0)) return null
  const setGuard = (id: string, part: Partial<Guard>) =>
    onChange({ guards: guards.map((one) => (one.id === id ? { ...one, ...part } : one)) })
  const keys = metrics.map(metricKeyOf)
  return (
    <fieldset className="flex flex-col gap-2">
      <legend className="sr-only">Guards of rule {number}</legend>
      {guards.map((guard, index) => {
        const { id, metric, worseThan, action } = guard
        return (
          <div key={id} className="flex flex-col gap-2 rounded-lg bg-subtle p-3">
            <div className="grid items-end gap-2 sm:grid-cols-[1fr_7rem_1fr_auto]">
              <Select
                label={`Guard ${index + 1} of rule ${number} watches`}
                value={metric}
                onChange={(event) => setGuard(id, { metric: event.target.value })}
                options={[...new Set([metric, ...keys])].map((key) => [key, key] as const)}
              />
              <NumberInput
                label="Worse than, %"
                required
                min={0}
                max={1_000}
                step="any"
                value={worseThan}
                onCommit={(value) => setGuard(id, { worseThan: value })}
              />
              <Select
                label="Then"
                value={action}
                onChange={(event) => setGuard(id, { action: event.target.value as GuardAction })}
                options={[
                  ['rollback', 'roll the rule back'],
                  ['pause', 'turn the decision off'],
                  ...(hasRamp || action === 'hold' ? [['hold', 'hold the ramp'] as const] : []),
                ]}
              />
              <Button
                look="quiet"
                icon="trash"
                aria-label={`Remove guard ${index + 1} of rule ${number}`}
                onClick={() => onChange({ guards: guards.filter((one) => one.id !== id) })}
              />
            </div>
            <p className="text-muted">{guardSentence(guard, rule, { variants, fallbackVariant, metrics })}</p>
          </div>
        )
      })}
      <div>
        <Button
          look="quiet"
          icon="plus"
          small
          disabled={guards.length >= Math.min(10, metrics.length)}
          onClick={() => onChange({ guards: [...guards, newGuard(rule, metrics)] })}
        >
          Guard rule {number} by a metric
        </Button>
      </div>
    </fieldset>
  )
}
