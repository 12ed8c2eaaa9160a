import { Card } from '../ui/card.tsx'
import { Notice } from '../ui/states.tsx'
import { NothingYet, QueryPage } from './frame.tsx'
import { Notes, useMarks, useNotes } from './notes.tsx'
import { ResultOf } from './query-result.tsx'
import { type QueryResult, useQueryResult } from './run-query.ts'
import { TrendsEditor } from './trends-editor.tsx'
import { TrendsChart, TrendsTables } from './trends-result.tsx'
import { useQueryState } from './use-query-state.ts'

const TrendsWithNotes = ({ result }: { result: QueryResult<'trends'> }) => {
  const notes = useNotes(result.range)
  const marks = useMarks(notes.data?.data)
  return (
    <>
      <Card title="Over time" padded>
        <TrendsChart result={result} marks={marks} />
      </Card>
      <Notes notes={notes} />
    </>
  )
}

/** Metrics over time. */
export const TrendsPage = () => {
  const state = useQueryState('trends')
  const response = useQueryResult('trends', state.validQuery, state.range)
  return (
    <QueryPage state={state} editor={<TrendsEditor state={state} />}>
      {state.validQuery === undefined ? (
        <NothingYet title="Choose a property">
          A sum, an average or a percentile is of a property that has numbers.
        </NothingYet>
      ) : (
        <ResultOf response={response}>
          {(result) =>
            result.data.series.length === 0 ? (
              <NothingYet title="Nothing in this time">
                Choose a longer time range, or other filters.
              </NothingYet>
            ) : (
              <>
                {result.data.series.every(({ total }) => total === 0) && (
                  <Notice>
                    Nothing in this time. Bots are left out, and scripts such as curl count as bots.
                  </Notice>
                )}
                <TrendsWithNotes result={result} />
                <TrendsTables result={result} />
              </>
            )
          }
        </ResultOf>
      )}
    </QueryPage>
  )
}
