import { Button } from '../ui/button.tsx'
import { type Choice, Choose } from '../ui/choose.tsx'
import { Input, Select, Switch } from '../ui/form.tsx'
import type { Draft } from './draft.ts'

type Metric = Draft['metrics'][number]

/** The fields of one metric. */
export const MetricFields = ({
  metric,
  number,
  selectors,
  onChange,
  onRemove,
}: {
  metric: Metric
  number: number
  selectors: readonly Choice[]
  onChange: (part: Partial<Metric>) => void
  onRemove: () => void
}) => {
  const ofEvents = metric.selectorId === ''
  return (
    <fieldset className="flex flex-col gap-3 rounded-lg border border-line p-3">
      <legend className="sr-only">Metric {number}</legend>
      <div className="flex items-end gap-3">
        <Input
          label={`Name of metric ${number}`}
          className="grow"
          maxLength={250}
          placeholder="Made from the event, if empty"
          value={metric.key}
          onChange={(event) => onChange({ key: event.target.value })}
        />
        <Button look="quiet" icon="trash" aria-label={`Remove metric ${number}`} onClick={onRemove} />
      </div>
      <div className="grid gap-3 sm:grid-cols-3">
        <Select
          label="Measure"
          value={metric.kind}
          onChange={(event) => onChange({ kind: event.target.value as Metric['kind'] })}
          options={[
            ['count', 'share of people with any'],
            ['sum', 'sum per person'],
            ['mean', 'mean of people with any'],
          ]}
        />
        <Choose
          label="Of"
          value={metric.selectorId}
          choices={selectors.map(([id, eventName]) => [id, `conversions by ${eventName}`] as const)}
          placeholder="events named"
          onChange={(selectorId) => onChange({ selectorId, property: '' })}
        />
        {ofEvents && (
          <Input
            label="Event"
            required
            maxLength={200}
            value={metric.eventName}
            onChange={(event) => onChange({ eventName: event.target.value })}
          />
        )}
        {metric.kind !== 'count' && (
          <Input
            label="Value"
            required={ofEvents && metric.kind === 'mean'}
            placeholder={ofEvents ? 'properties.total' : 'amount'}
            hint={
              ofEvents ? 'Left empty, each event counts as 1.' : 'amount, quantity or net of discounts (net)'
            }
            value={metric.property}
            onChange={(event) => onChange({ property: event.target.value })}
          />
        )}
        <Select
          label="Better is"
          value={metric.goal}
          onChange={(event) => onChange({ goal: event.target.value as Metric['goal'] })}
          options={[
            ['up', 'more'],
            ['down', 'less'],
          ]}
        />
      </div>
      <Switch
        label={`Metric ${number} is a guardrail`}
        hint="It must not get worse. You are warned when it does."
        checked={metric.guardrail}
        onChange={(guardrail) => onChange({ guardrail })}
      />
    </fieldset>
  )
}
