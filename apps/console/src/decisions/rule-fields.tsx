import { Slider } from '@base-ui/react/slider'
import { Button } from '../ui/button.tsx'
import { Input, Select, TextArea } from '../ui/form.tsx'
import { formatNumber } from '../ui/format.tsx'
import type { Draft } from './draft.ts'

type Rule = Draft['rules'][number]

/** The fields of one rule. */
export const RuleFields = ({
  rule,
  number,
  variants,
  onChange,
  onRemove,
}: {
  rule: Rule
  number: number
  variants: readonly string[]
  onChange: (part: Partial<Rule>) => void
  onRemove: () => void
}) => (
  <fieldset className="flex flex-col gap-3 rounded-lg border border-line p-3">
    <legend className="sr-only">Rule {number}</legend>
    <div className="flex items-end gap-3">
      <Input
        label={`Rule ${number}`}
        className="grow"
        placeholder="What it is for"
        value={rule.description}
        onChange={(event) => onChange({ description: event.target.value })}
      />
      <Button look="quiet" icon="trash" aria-label={`Remove rule ${number}`} onClick={onRemove} />
    </div>
    <TextArea
      label="Condition"
      code
      rows={2}
      value={rule.condition}
      placeholder='{"==": [{"var": "traits.plan"}, "pro"]}'
      hint="JsonLogic over traits, context and counts. Left empty, the rule fits everyone."
      onChange={(event) => onChange({ condition: event.target.value })}
    />
    <div className="grid gap-4 sm:grid-cols-2">
      <Slider.Root
        value={rule.rollout}
        onValueChange={(value) => onChange({ rollout: value as number })}
        className="flex flex-col gap-1"
      >
        <div className="flex justify-between">
          <Slider.Label className="font-medium">Rollout of rule {number}</Slider.Label>
          <Slider.Value className="text-muted tabular-nums">
            {(_texts, [value = 0]) => `${formatNumber(value)} %`}
          </Slider.Value>
        </div>
        <Slider.Control className="flex h-9 items-center">
          <Slider.Track className="h-1.5 w-full rounded-full bg-line-strong">
            <Slider.Indicator className="rounded-full bg-accent" />
            <Slider.Thumb
              aria-label={`Rollout of rule ${number}, percent`}
              className="size-4 rounded-full border-2 border-accent bg-surface shadow-card has-focus-visible:outline-2 has-focus-visible:outline-offset-2 has-focus-visible:outline-accent"
            />
          </Slider.Track>
        </Slider.Control>
      </Slider.Root>
      <Select
        label="They get"
        value={rule.variant}
        onChange={(event) => onChange({ variant: event.target.value })}
        options={[['', 'a split of all variants'], ...variants.map((key) => [key, key] as const)]}
      />
    </div>
    {rule.variant === '' && (
      <div className="grid grid-cols-2 gap-3 sm:grid-cols-4">
        {variants.map((key) => (
          <Input
            key={key}
            label={`Weight of ${key}`}
            type="number"
            min={0}
            value={rule.weights[key] ?? 1}
            onChange={(event) =>
              onChange({ weights: { ...rule.weights, [key]: Number(event.target.value) } })
            }
          />
        ))}
      </div>
    )}
  </fieldset>
)
