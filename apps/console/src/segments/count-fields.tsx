import { useEventNames } from '../api/known-events.ts'
import { Button } from '../ui/button.tsx'
import { NumberInput, Select } from '../ui/form.tsx'
import { Icon } from '../ui/icon.tsx'
import { Pick } from '../ui/pick.tsx'
import { COUNT_OPERATORS, type Count, MAX_COUNT, MAX_COUNTS, MAX_DAYS } from './condition.ts'

const OPTIONS = Object.entries(COUNT_OPERATORS)

/** The numbers of events in the condition of a segment. */
export const CountFields = ({
  counts,
  onChange,
}: {
  counts: readonly Count[]
  onChange: (counts: Count[]) => void
}) => {
  const events = useEventNames()
  return (
    <>
      {counts.map((count, index) => {
        const change = (part: Partial<Count>) => onChange(counts.with(index, { ...count, ...part }))
        return (
          <fieldset
            // biome-ignore lint/suspicious/noArrayIndexKey: counts have no identity, and their fields no state that outlives their focus
            key={index}
            className="flex flex-col gap-2 rounded-lg bg-subtle/60 p-2.5"
          >
            <legend className="sr-only">Count {index + 1}</legend>
            <div className="flex items-end gap-1.5">
              <div className="min-w-0 grow">
                <Pick
                  label="Event"
                  hideLabel
                  placeholder="Event"
                  value={count.eventName}
                  options={events}
                  onCommit={(eventName) => change({ eventName })}
                />
              </div>
              <button
                type="button"
                aria-label={`Remove count ${index + 1}`}
                onClick={() => onChange(counts.toSpliced(index, 1))}
                className="rounded-lg p-2.5 text-muted hover:bg-subtle hover:text-text"
              >
                <Icon name="x" />
              </button>
            </div>
            <div className="grid grid-cols-2 items-end gap-2 sm:grid-cols-3">
              <Select
                label="Comparison"
                className="max-sm:col-span-2"
                value={count.op}
                options={OPTIONS}
                onChange={(event) => change({ op: event.target.value as Count['op'] })}
              />
              <NumberInput
                label="Times"
                min={0}
                max={MAX_COUNT}
                value={count.value}
                onCommit={(value) => change({ value })}
              />
              <NumberInput
                label="In days"
                min={1}
                max={MAX_DAYS}
                value={count.days}
                onCommit={(value) => change({ days: value })}
              />
            </div>
          </fieldset>
        )
      })}
      {counts.length < MAX_COUNTS && (
        <div>
          <Button
            small
            look="quiet"
            icon="plus"
            onClick={() => onChange([...counts, { eventName: '', days: 30, op: 'gte', value: 1 }])}
          >
            Add count of events
          </Button>
        </div>
      )}
    </>
  )
}
