import { Slider } from '@base-ui/react/slider'
import { Button } from '../ui/button.tsx'
import { type Choice, Choose } from '../ui/choose.tsx'
import {
  fromLocalInput,
  Input,
  LOCAL_TIME_HINT,
  NumberInput,
  Select,
  TextArea,
  toLocalInput,
} from '../ui/form.tsx'
import { formatPercentage } from '../ui/format.tsx'
import { toasts } from '../ui/toasts.tsx'
import { type Draft, newStep, withSegment } from './draft.ts'
import { GuardFields } from './guard-fields.tsx'

type Rule = Draft['rules'][number]

/** The fields of one rule. */
export const RuleFields = ({
  rule,
  number,
  variants,
  fallbackVariant,
  metrics,
  segments,
  onChange,
  onRemove,
}: {
  rule: Rule
  number: number
  variants: Draft['variants']
  fallbackVariant: string
  metrics: Draft['metrics']
  segments: readonly Choice[]
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
      hint="JsonLogic over traits, context, counts and segments. Left empty, the rule fits everyone."
      onChange={(event) => onChange({ condition: event.target.value })}
    />
    {segments.length > 0 && (
      <Choose
        label={`Limit rule ${number} to`}
        className="max-w-sm"
        value=""
        choices={segments}
        placeholder="a segment …"
        onChange={(key) => {
          try {
            onChange({ condition: withSegment(rule.condition, key) })
          } catch (error) {
            toasts.add({
              title: 'That did not work',
              description: String((error as Error).message),
              type: 'error',
            })
          }
        }}
      />
    )}
    <RuleShares rule={rule} number={number} variants={variants} onChange={onChange} />
    <GuardFields
      rule={rule}
      number={number}
      variants={variants}
      fallbackVariant={fallbackVariant}
      metrics={metrics}
      onChange={onChange}
    />
  </fieldset>
)

type PartProps = { rule: Rule; number: number; onChange: (part: Partial<Rule>) => void }

/** How many people a rule reaches, and which variants they get. */
export const RuleShares = ({ variants, ...props }: PartProps & { variants: Draft['variants'] }) => {
  const { rule, onChange } = props
  return (
    <>
      <div className="grid gap-4 sm:grid-cols-2">
        {rule.ramp.length > 0 ? <RampFields {...props} /> : <Rollout {...props} />}
        <Select
          label="They get"
          value={rule.variant}
          onChange={(event) => onChange({ variant: event.target.value })}
          options={[['', 'a split of all variants'], ...variants.map(({ key }) => [key, key] as const)]}
        />
      </div>
      {rule.variant === '' && (
        <div className="grid grid-cols-2 items-end gap-3 sm:grid-cols-4">
          {variants.map(({ id, key }) => (
            <NumberInput
              key={id}
              label={`Weight of ${key}`}
              min={0}
              step="any"
              value={rule.weights[id] ?? 1}
              onCommit={(value) => onChange({ weights: { ...rule.weights, [id]: value } })}
            />
          ))}
        </div>
      )}
    </>
  )
}

/** The percentage of a rule without a ramp. */
const Rollout = ({ rule, number, onChange }: PartProps) => (
  <div className="flex flex-col gap-1">
    <Slider.Root
      value={rule.rollout}
      onValueChange={(value) => onChange({ rollout: value as number })}
      className="flex flex-col gap-1"
    >
      <div className="flex justify-between">
        <Slider.Label className="font-medium">Rollout of rule {number}</Slider.Label>
        <Slider.Value className="text-muted tabular-nums">
          {(_texts, [value = 0]) => formatPercentage(value)}
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
    <div>
      <Button
        look="quiet"
        icon="plus"
        small
        onClick={() => onChange({ rollout: 100, ramp: [newStep([], Date.now())] })}
      >
        Ramp rule {number} up over time
      </Button>
    </div>
  </div>
)

/** The steps of a ramp. */
const RampFields = ({ rule: { ramp, guards }, number, onChange }: PartProps) => {
  const setStep = (id: string, part: Partial<Rule['ramp'][number]>) =>
    onChange({ ramp: ramp.map((step) => (step.id === id ? { ...step, ...part } : step)) })
  return (
    <fieldset className="flex flex-col gap-2 sm:col-span-2">
      <legend className="mb-1 font-medium">Ramp of rule {number}</legend>
      {ramp.map(({ id, at, percentage, minPeople }, index) => (
        <div
          key={id}
          className="grid grid-cols-[1fr_auto] items-end gap-2 sm:grid-cols-[1fr_5.5rem_7rem_auto]"
        >
          <Input
            label={`From, step ${index + 1}`}
            className="max-sm:col-span-2"
            type="datetime-local"
            required
            value={toLocalInput(at)}
            onChange={(event) => setStep(id, { at: fromLocalInput(event.target.value) ?? '' })}
          />
          <NumberInput
            label={`Percent, step ${index + 1}`}
            required
            min={0}
            max={100}
            step="0.01"
            value={percentage}
            onCommit={(value) => setStep(id, { percentage: value })}
          />
          {index < ramp.length - 1 && guards.length > 0 ? (
            <NumberInput
              label={`People, step ${index + 1}`}
              min={0}
              step="1"
              value={minPeople}
              onCommit={(value) => setStep(id, { minPeople: value })}
            />
          ) : (
            <span className="max-sm:hidden" />
          )}
          <Button
            look="quiet"
            icon="trash"
            aria-label={`Remove step ${index + 1} of rule ${number}`}
            onClick={() => onChange({ ramp: ramp.filter((step) => step.id !== id) })}
          />
        </div>
      ))}
      <p className="text-muted">
        Nobody before the first step. Percentages do not fall. {LOCAL_TIME_HINT}
        {guards.length > 0 &&
          '. With a number of people, the next step waits until each variant has so many (100 at least) and no guard is near its bound.'}
      </p>
      <div>
        <Button
          small
          icon="plus"
          disabled={ramp.length >= MAX_STEPS}
          onClick={() => onChange({ ramp: [...ramp, newStep(ramp, Date.now())] })}
        >
          Add step
        </Button>
      </div>
    </fieldset>
  )
}
const MAX_STEPS = 20
