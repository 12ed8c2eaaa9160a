import { Input, Select } from '../ui/form.tsx'
import { AnswerOf } from './answer.tsx'
import { useAnswer } from './ask.ts'
import { EventField, RangeFields, ZoneField } from './common-fields.tsx'
import { NothingYet, QuestionPage } from './frame.tsx'
import { COHORT_INTERVALS } from './question-url.ts'
import { RetentionResult } from './retention-result.tsx'
import { type QuestionState, useQuestion } from './use-question.ts'

/** The retention page. */
export const RetentionPage = () => {
  const question = useQuestion('retention')
  const result = useAnswer('retention', question.asked, question.range)
  return (
    <QuestionPage question={question} editor={<RetentionEditor question={question} />}>
      {question.asked === undefined ? (
        <NothingYet title="Choose the events people begin with and come back for">
          Such as <code>signed_up</code> and <code>order_placed</code>. Both may be the same.
        </NothingYet>
      ) : (
        <AnswerOf result={result}>
          {(answered) =>
            answered.answer.cohorts.every(({ size }) => size === 0) ? (
              <NothingYet title="Nobody began in this time">Choose a longer time range.</NothingYet>
            ) : (
              <RetentionResult answered={answered} />
            )
          }
        </AnswerOf>
      )}
    </QuestionPage>
  )
}

const RetentionEditor = ({ question }: { question: QuestionState<'retention'> }) => {
  const { query, range, change, setRange } = question
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
      <Input
        label="Intervals after the first"
        type="number"
        min={1}
        max={100}
        value={query.periods}
        onChange={(event) => change({ periods: Number(event.target.value) || 1 })}
      />
      <RangeFields range={range} onChange={(next) => next && setRange(next)} />
      <ZoneField zone={query.timeZone} onChange={(zone) => change({ timeZone: zone })} />
    </>
  )
}
