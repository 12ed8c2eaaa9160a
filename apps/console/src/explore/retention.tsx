import { IntegerInput, Select } from '../ui/form.tsx'
import { EventField, RangeFields, ZoneField } from './common-fields.tsx'
import { NothingYet, QueryPage } from './frame.tsx'
import { ResultOf } from './query-result.tsx'
import { COHORT_INTERVALS } from './query-url.ts'
import { RetentionResult } from './retention-result.tsx'
import { useQueryResult } from './run-query.ts'
import { type QueryState, useQueryState } from './use-query-state.ts'

/** The retention page. */
export const RetentionPage = () => {
  const state = useQueryState('retention')
  const response = useQueryResult('retention', state.validQuery, state.range)
  return (
    <QueryPage state={state} editor={<RetentionEditor state={state} />}>
      {state.validQuery === undefined ? (
        <NothingYet title="Choose the events people begin with and come back for">
          Such as <code>signed_up</code> and <code>order_placed</code>. Both may be the same.
        </NothingYet>
      ) : (
        <ResultOf response={response}>
          {(result) =>
            result.data.cohorts.every(({ size }) => size === 0) ? (
              <NothingYet title="No one began in this time">Choose a longer time range.</NothingYet>
            ) : (
              <RetentionResult result={result} />
            )
          }
        </ResultOf>
      )}
    </QueryPage>
  )
}

const RetentionEditor = ({ state }: { state: QueryState<'retention'> }) => {
  const { query, range, change, setRange } = state
  return (
    <>
      <EventField
        label="They begin with"
        placeholder="Name of an event"
        value={query.startEvent}
        onChange={(name) => change({ startEvent: name })}
      />
      <EventField
        label="They come back for"
        placeholder="Name of an event"
        value={query.returnEvent}
        onChange={(name) => change({ returnEvent: name })}
      />
      <Select
        label="Interval"
        value={query.interval}
        onChange={(event) => change({ interval: event.target.value as keyof typeof COHORT_INTERVALS })}
        options={Object.entries(COHORT_INTERVALS)}
      />
      <IntegerInput
        label="Intervals after the first"
        min={1}
        max={100}
        value={query.periods}
        onCommit={(periods) => change({ periods })}
      />
      <RangeFields range={range} onChange={(next) => next && setRange(next)} />
      <ZoneField zone={query.timeZone} onChange={(zone) => change({ timeZone: zone })} />
    </>
  )
}
