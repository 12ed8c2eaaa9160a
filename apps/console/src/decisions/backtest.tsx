import { useState } from 'react'
import { useChange } from '../api/change.ts'
import { api, unwrap } from '../api/client.ts'
import { useEventNames } from '../api/known-events.ts'
import { wholeList } from '../api/pages.ts'
import { useProjectId } from '../api/session.ts'
import { PersonLink } from '../people/person-link.tsx'
import { Card } from '../ui/card.tsx'
import { Form, IntegerInput, Suggest, TextArea } from '../ui/form.tsx'
import { formatCount, formatNumber } from '../ui/format.tsx'
import { parseEnteredJson } from '../ui/parse-entered-json.ts'
import { DataTable, NarrowLine } from '../ui/table.tsx'
import { backtestSentence } from './backtest-sentence.ts'

const MAX_DAYS = 90

/** What the decision would have given people on the events of the last days. */
export const Backtest = ({
  decisionKey,
  environment,
  definition,
  version,
}: {
  decisionKey: string
  environment: string
  /** What was typed instead of the stored definition. @throws Error when it cannot be read */
  definition?: () => object
  /** What the result is of. That of another one is not shown. */
  version: unknown
}) => {
  const projectId = useProjectId()
  const names = useEventNames()
  const [days, setDays] = useState(7)
  const backtest = useChange(
    async ({ values }: { values: Record<string, string>; version: unknown }) => {
      const { eventName = '', context = '' } = values
      return unwrap(
        api.POST('/api/projects/{projectId}/decisions/{key}/backtest', {
          params: { path: { projectId, key: decisionKey } },
          body: {
            days,
            environment,
            ...(definition && { definition: definition() as never }),
            ...(eventName.trim() && { eventName: eventName.trim() }),
            ...(context.trim() && {
              context: parseEnteredJson(context, 'Context') as Record<string, unknown>,
            }),
          },
        }),
      )
    },
    { quiet: true },
  )
  const { data, variables } = backtest
  const isCurrent = variables?.version === version
  return (
    <Card
      title="Try it on past events"
      description="What people would have got in the last days. Nothing is stored or sent."
      padded
    >
      <Form
        submit="Replay"
        busy={backtest.isPending}
        error={backtest.error}
        onSubmit={(values) => backtest.mutate({ values, version })}
      >
        <div className="grid gap-4 sm:grid-cols-2">
          <IntegerInput label="Days" name="days" min={1} max={MAX_DAYS} value={days} onCommit={setDays} />
          <Suggest
            label="At each event"
            name="eventName"
            maxLength={200}
            options={names}
            placeholder="any event"
            hint="When your shop asks for the decision."
          />
        </div>
        <TextArea
          label="Context of every request"
          name="context"
          code
          rows={2}
          placeholder='{"country": "DE"}'
        />
      </Form>
      {data && isCurrent && (
        <div className="mt-4 flex flex-col gap-4">
          <p role="status">{backtestSentence(data)}</p>
          <DataTable
            label="What people would have got"
            list={wholeList(data.variants)}
            keyOf={({ variant }) => variant}
            columns={[
              {
                title: 'Variant',
                cell: ({ variant, couponPoolId, people }) => (
                  <>
                    <span className="font-medium wrap-anywhere">{variant}</span>
                    {couponPoolId && people > 0 && (
                      <span className="block text-muted">{formatCount(people, 'code')} of its pool</span>
                    )}
                  </>
                ),
                sort: ({ variant }) => variant,
              },
              {
                title: 'People',
                align: 'right',
                cell: ({ people }) => formatNumber(people),
                sort: ({ people }) => people,
              },
              {
                title: 'Times',
                align: 'right',
                wide: true,
                cell: ({ evaluations }) => formatNumber(evaluations),
                sort: ({ evaluations }) => evaluations,
              },
              {
                title: 'Why',
                cell: ({ outcomes }) =>
                  outcomes.length === 0
                    ? '–'
                    : outcomes.map(({ reason, ruleId, people }) => (
                        <span key={`${reason} ${ruleId}`} className="block">
                          {reason} {formatCount(people, 'person', 'people')}
                          {ruleId && <NarrowLine>{`rule ${ruleId}`}</NarrowLine>}
                        </span>
                      )),
              },
              {
                title: 'For example',
                wide: true,
                cell: ({ sample }) =>
                  sample.length === 0
                    ? '–'
                    : sample.map((id) => (
                        <span key={id} className="block font-mono text-xs wrap-anywhere">
                          <PersonLink id={id}>{id}</PersonLink>
                        </span>
                      )),
              },
            ]}
            empty={null}
          />
          <div>
            <h3 className="font-medium">What it cannot know</h3>
            <ul className="list-disc pl-5 text-muted">
              {data.unknown.map(({ code, message, people }) => (
                <li key={code}>
                  {people === undefined ? '' : `${formatCount(people, 'person', 'people')}: `}
                  {message}
                </li>
              ))}
            </ul>
          </div>
        </div>
      )}
    </Card>
  )
}
