import { useState } from 'react'
import { Button } from '../ui/button.tsx'
import { IntegerInput, Select } from '../ui/form.tsx'
import { BreakdownField, EventField, RangeFields } from './common-fields.tsx'
import { FilterFields } from './filter-fields.tsx'
import { NothingYet, QueryPage } from './frame.tsx'
import { FunnelResult } from './funnel-result.tsx'
import { ResultOf } from './query-result.tsx'
import type { FunnelStep } from './query-types.ts'
import { useQueryResult } from './run-query.ts'
import { type QueryState, useQueryState } from './use-query-state.ts'

const MAX_STEPS = 10
const MIN_STEPS = 2

const UNITS = { minutes: 60, hours: 3_600, days: 86_400 } as const
type Unit = keyof typeof UNITS
const MAX_WINDOW_S = 366 * UNITS.days

/** The funnel page. */
export const FunnelPage = () => {
  const state = useQueryState('funnel')
  const response = useQueryResult('funnel', state.validQuery, state.range)
  return (
    <QueryPage state={state} editor={<FunnelEditor state={state} />}>
      {state.validQuery === undefined ? (
        <NothingYet title="Choose the events of two steps">
          Such as <code>product_viewed</code> and then <code>order_placed</code>: the funnel shows how many
          people go on from one to the next.
        </NothingYet>
      ) : (
        <ResultOf response={response}>
          {(result) =>
            result.data.steps[0]?.people === 0 ? (
              <NothingYet title="No one took the first step">
                Choose a longer time range, or other filters.
              </NothingYet>
            ) : (
              <FunnelResult result={result} />
            )
          }
        </ResultOf>
      )}
    </QueryPage>
  )
}

const FunnelEditor = ({ state }: { state: QueryState<'funnel'> }) => {
  const { query, range, change, setRange } = state
  const { steps, breakdown, order, windowSeconds } = query
  return (
    <>
      {steps.map((step, index) => (
        <StepFields
          // biome-ignore lint/suspicious/noArrayIndexKey: steps have no identity, and their fields no state of their own
          key={index}
          number={index + 1}
          step={step}
          onChange={(changed) => change({ steps: steps.with(index, changed) })}
          {...(steps.length > MIN_STEPS && { onRemove: () => change({ steps: steps.toSpliced(index, 1) }) })}
        />
      ))}
      {steps.length < MAX_STEPS && (
        <div>
          <Button small icon="plus" onClick={() => change({ steps: [...steps, { eventName: '' }] })}>
            Add step
          </Button>
        </div>
      )}
      <Select
        label="Order"
        value={order ?? 'ordered'}
        onChange={(event) => change({ order: event.target.value === 'any' ? 'any' : undefined })}
        options={[
          ['ordered', 'One after another'],
          ['any', 'Any after the first'],
        ]}
      />
      <WindowFields seconds={windowSeconds} onChange={(seconds) => change({ windowSeconds: seconds })} />
      <BreakdownField
        eventName={steps[0]?.eventName || undefined}
        value={breakdown}
        onChange={(property) => change({ breakdown: property })}
      />
      <RangeFields range={range} onChange={(next) => next && setRange(next)} />
    </>
  )
}

const StepFields = ({
  number,
  step: { eventName, filters = [] },
  onChange,
  onRemove,
}: {
  number: number
  step: FunnelStep
  onChange: (step: FunnelStep) => void
  onRemove?: () => void
}) => (
  <fieldset className="flex min-w-0 flex-col gap-2.5 rounded-lg border border-line p-3">
    <legend className="px-1 font-semibold">Step {number}</legend>
    <EventField
      value={eventName}
      placeholder="Name of an event"
      onChange={(name) => onChange({ eventName: name, ...(filters.length > 0 && { filters }) })}
    />
    <FilterFields
      eventName={eventName || undefined}
      filters={filters}
      onChange={(next) => onChange({ eventName, ...(next.length > 0 && { filters: next }) })}
    />
    {onRemove && (
      <Button small look="quiet" icon="trash" className="self-start" onClick={onRemove}>
        Remove step {number}
      </Button>
    )}
  </fieldset>
)

const longestUnit = (seconds: number): Unit =>
  seconds % UNITS.days === 0 ? 'days' : seconds % UNITS.hours === 0 ? 'hours' : 'minutes'

const WindowFields = ({ seconds, onChange }: { seconds: number; onChange: (seconds: number) => void }) => {
  // Kept while it fits: 24 hours may become 240.
  const [chosen, setChosen] = useState<Unit>()
  const unit = chosen && seconds % UNITS[chosen] === 0 ? chosen : longestUnit(seconds)
  const amount = Math.max(1, Math.round(seconds / UNITS[unit]))
  return (
    <div className="grid grid-cols-2 gap-2">
      <IntegerInput
        label="Within"
        min={1}
        max={MAX_WINDOW_S / UNITS[unit]}
        value={amount}
        onCommit={(length) => {
          setChosen(unit)
          onChange(length * UNITS[unit])
        }}
      />
      <Select
        label="Unit"
        value={unit}
        onChange={(event) => {
          const next = event.target.value as Unit
          setChosen(next)
          onChange(Math.min(amount * UNITS[next], MAX_WINDOW_S))
        }}
        options={[
          ['minutes', 'minutes'],
          ['hours', 'hours'],
          ['days', 'days'],
        ]}
      />
    </div>
  )
}
