import { useState } from 'react'
import { Button } from '../ui/button.tsx'
import { useDebounced } from '../ui/debounce.ts'
import { Select } from '../ui/form.tsx'
import { Icon } from '../ui/icon.tsx'
import { Pick } from '../ui/pick.tsx'
import { useProperties, usePropertyValues } from './known-properties.ts'
import type { Filter } from './query-types.ts'
import { filterValue, OPERATORS, valueText } from './query-url.ts'

const MAX_FILTERS = 10
const OPTIONS = Object.entries(OPERATORS)

type UseKnown = (eventName?: string) => Pick<ReturnType<typeof useProperties>, 'names' | 'typesOf'>

/** The filters of one series, step or segment. */
export const FilterFields = ({
  eventName,
  filters,
  onChange,
  useKnown = useProperties,
}: {
  eventName: string | undefined
  filters: readonly Filter[]
  onChange: (filters: Filter[]) => void
  /** Suggests names; by default those of events. */
  useKnown?: UseKnown
}) => (
  <>
    {filters.map((filter, index) => (
      <FilterRow
        // biome-ignore lint/suspicious/noArrayIndexKey: filters have no identity, and their fields no state of their own
        key={index}
        number={index + 1}
        eventName={eventName}
        filter={filter}
        useKnown={useKnown}
        onChange={(changed) => onChange(filters.with(index, changed))}
        onRemove={() => onChange(filters.toSpliced(index, 1))}
      />
    ))}
    {filters.length < MAX_FILTERS && (
      <div>
        <Button
          small
          look="quiet"
          icon="plus"
          onClick={() => onChange([...filters, { property: '', op: 'eq' }])}
        >
          Add filter
        </Button>
      </div>
    )}
  </>
)

const FilterRow = ({
  number,
  eventName,
  filter: { property, op, value },
  useKnown,
  onChange,
  onRemove,
}: {
  number: number
  eventName: string | undefined
  filter: Filter
  useKnown: UseKnown
  onChange: (filter: Filter) => void
  onRemove: () => void
}) => {
  const [typed, setTyped] = useState('')
  const sought = useDebounced(typed)
  const { names, typesOf } = useKnown(eventName)
  const types = typesOf(property)
  const takesValue = op !== 'exists' && op !== 'not_exists'
  const isList = op === 'in' || op === 'not_in'
  const text = valueText(value, types)
  const values = usePropertyValues(takesValue ? property : '', eventName, isList ? '' : sought)
  const commit = (entered: string) => {
    const next = filterValue(op, entered, types)
    onChange({ property, op, ...(next !== undefined && { value: next }) })
  }
  return (
    <fieldset className="flex flex-col gap-2 rounded-lg bg-subtle/60 p-2.5">
      <legend className="sr-only">Filter {number}</legend>
      <div className="flex items-end gap-1.5">
        <div className="min-w-0 grow">
          <Pick
            label="Property"
            hideLabel
            placeholder="Property"
            value={property}
            options={names}
            onCommit={(next) => onChange({ property: next, op })}
          />
        </div>
        <button
          type="button"
          aria-label={`Remove filter ${number}`}
          onClick={onRemove}
          className="rounded-lg p-2.5 text-muted hover:bg-subtle hover:text-text"
        >
          <Icon name="x" />
        </button>
      </div>
      <Select
        label="Comparison"
        hideLabel
        value={op}
        options={OPTIONS}
        onChange={(event) => {
          const next = event.target.value as Filter['op']
          const kept = filterValue(next, text, types)
          onChange({ property, op: next, ...(kept !== undefined && { value: kept }) })
        }}
      />
      {takesValue && (
        <Pick
          label="Value"
          hideLabel
          placeholder={isList ? 'Values, with commas between them' : 'Value'}
          value={text}
          options={values.map((one) => (types.includes('string') ? valueText(one, types) : one))}
          onType={setTyped}
          onCommit={commit}
          {...(typeof value === 'number' && { hint: 'Compared as a number.' })}
        />
      )}
    </fieldset>
  )
}
