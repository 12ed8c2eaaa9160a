import { Card } from '../ui/card.tsx'
import { Notice } from '../ui/states.tsx'
import { AnswerOf } from './answer.tsx'
import { useAnswer } from './ask.ts'
import { NothingYet, QuestionPage } from './frame.tsx'
import { TrendsEditor } from './trends-editor.tsx'
import { TrendsChart, TrendsTables } from './trends-result.tsx'
import { useQuestion } from './use-question.ts'

/** Metrics over time. */
export const TrendsPage = () => {
  const question = useQuestion('trends')
  const result = useAnswer('trends', question.asked, question.range)
  return (
    <QuestionPage question={question} editor={<TrendsEditor question={question} />}>
      {question.asked === undefined ? (
        <NothingYet title="Choose a property">
          A sum, an average or a percentile is of a property that has numbers.
        </NothingYet>
      ) : (
        <AnswerOf result={result}>
          {(answered) =>
            answered.answer.series.length === 0 ? (
              <NothingYet title="Nothing in this time">
                Choose a longer time range, or other filters.
              </NothingYet>
            ) : (
              <>
                {answered.answer.series.every(({ total }) => total === 0) && (
                  <Notice>
                    Nothing in this time. Bots are left out, and scripts such as curl count as bots.
                  </Notice>
                )}
                <Card title="Over time" padded>
                  <TrendsChart answered={answered} />
                </Card>
                <TrendsTables answered={answered} />
              </>
            )
          }
        </AnswerOf>
      )}
    </QuestionPage>
  )
}
