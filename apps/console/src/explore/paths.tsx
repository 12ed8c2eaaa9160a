import { Input } from '../ui/form.tsx'
import { AnswerOf } from './answer.tsx'
import { useAnswer } from './ask.ts'
import { EventField, RangeFields } from './common-fields.tsx'
import { NothingYet, QuestionPage } from './frame.tsx'
import { PathsResult } from './paths-result.tsx'
import { type QuestionState, useQuestion } from './use-question.ts'

/** The paths page. */
export const PathsPage = () => {
  const question = useQuestion('paths')
  const result = useAnswer('paths', question.asked, question.range)
  return (
    <QuestionPage question={question} editor={<PathsEditor question={question} />}>
      <AnswerOf result={result}>
        {(answered) =>
          answered.answer.links.length === 0 ? (
            <NothingYet title="No paths in this time">
              A path is two different events or pages, or more, of one person in one session: events need a{' '}
              <code>sessionId</code>.
            </NothingYet>
          ) : (
            <PathsResult answered={answered} />
          )
        }
      </AnswerOf>
    </QuestionPage>
  )
}

const PathsEditor = ({ question }: { question: QuestionState<'paths'> }) => {
  const { query, range, change, setRange } = question
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
      <Input
        label="Steps"
        type="number"
        min={2}
        max={6}
        value={query.depth}
        onChange={(event) => change({ depth: Number(event.target.value) || undefined })}
      />
      <Input
        label="Ways at most"
        type="number"
        min={1}
        max={500}
        value={query.limit}
        onChange={(event) => change({ limit: Number(event.target.value) || undefined })}
      />
      <RangeFields range={range} onChange={(next) => next && setRange(next)} />
    </>
  )
}
