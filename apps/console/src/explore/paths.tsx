import { IntegerInput } from '../ui/form.tsx'
import { EventField, RangeFields } from './common-fields.tsx'
import { NothingYet, QueryPage } from './frame.tsx'
import { PathsResult } from './paths-result.tsx'
import { ResultOf } from './query-result.tsx'
import { useQueryResult } from './run-query.ts'
import { type QueryState, useQueryState } from './use-query-state.ts'

/** The paths page. */
export const PathsPage = () => {
  const state = useQueryState('paths')
  const response = useQueryResult('paths', state.validQuery, state.range)
  return (
    <QueryPage state={state} editor={<PathsEditor state={state} />}>
      <ResultOf response={response}>
        {(result) =>
          result.data.links.length === 0 ? (
            <NothingYet title="No paths in this time">
              A path is two different events or pages, or more, of one person in one session: events need a{' '}
              <code>sessionId</code>.
            </NothingYet>
          ) : (
            <PathsResult result={result} />
          )
        }
      </ResultOf>
    </QueryPage>
  )
}

const PathsEditor = ({ state }: { state: QueryState<'paths'> }) => {
  const { query, range, change, setRange } = state
  return (
    <>
      <EventField
        label="Beginning with"
        placeholder="The session"
        value={query.startEvent ?? ''}
        onChange={(name) => change({ startEvent: name || undefined })}
      />
      <EventField
        label="Ending with"
        placeholder="Anything"
        value={query.endEvent ?? ''}
        onChange={(name) => change({ endEvent: name || undefined })}
      />
      <IntegerInput
        label="Steps"
        min={2}
        max={6}
        value={query.depth}
        onCommit={(depth) => change({ depth })}
      />
      <IntegerInput
        label="Ways at most"
        min={1}
        max={500}
        value={query.limit}
        onCommit={(limit) => change({ limit })}
      />
      <RangeFields range={range} onChange={(next) => next && setRange(next)} />
    </>
  )
}
