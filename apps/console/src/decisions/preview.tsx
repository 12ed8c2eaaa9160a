import { useChange } from '../api/change.ts'
import { api, unwrap } from '../api/client.ts'
import { useProjectId } from '../api/session.ts'
import { PersonFields, personOf } from '../people/person-fields.tsx'
import { Badge } from '../ui/badge.tsx'
import { Card, Facts } from '../ui/card.tsx'
import { Form, TextArea } from '../ui/form.tsx'
import { parseEnteredJson } from '../ui/parse-entered-json.ts'

type Values = Record<string, string>

const objectOf = (text: string | undefined, what: string): Record<string, unknown> | undefined =>
  text?.trim() ? (parseEnteredJson(text, what) as Record<string, unknown>) : undefined

/** The variant of a person, and the reason. */
export const Preview = ({
  decisionKey,
  environment,
  version,
}: {
  decisionKey: string
  environment: string
  /** Of the decision. What another version gave is not shown. */
  version: number
}) => {
  const projectId = useProjectId()
  const preview = useChange(
    async ({ values, environment }: { values: Values; environment: string; version: number }) => {
      const { traits, context } = values
      const given = { traits: objectOf(traits, 'Traits'), context: objectOf(context, 'Context') }
      return unwrap(
        api.POST('/api/projects/{projectId}/decisions/{key}/preview', {
          params: { path: { projectId, key: decisionKey } },
          body: {
            ...personOf(values),
            environment,
            ...(given.traits && { traits: given.traits }),
            ...(given.context && { context: given.context }),
          },
        }),
      )
    },
    { quiet: true },
  )
  const { data, variables } = preview
  const isCurrent = variables?.environment === environment && variables.version === version
  return (
    <div className="grid gap-4 lg:grid-cols-2">
      <Card title="A person" padded className="self-start">
        <Form
          submit="Show what they get"
          busy={preview.isPending}
          error={preview.error}
          onSubmit={(values) => preview.mutate({ values, environment, version })}
        >
          <PersonFields defaultValue="user-1" />
          <TextArea
            label="Traits instead of the stored ones"
            name="traits"
            code
            rows={3}
            placeholder='{"plan": "pro"}'
          />
          <TextArea label="Context" name="context" code rows={3} placeholder='{"country": "DE"}' />
        </Form>
      </Card>
      <Card title="What they get" padded className="self-start">
        {data && isCurrent ? (
          <div className="flex flex-col gap-4" role="status">
            <p className="flex flex-wrap items-center gap-2 text-lg font-semibold">
              {data.answer.variant} <Badge tone="info">{data.answer.reason}</Badge>
            </p>
            <Facts
              rows={[
                [
                  'Value',
                  <code key="v" className="font-mono">
                    {JSON.stringify(data.answer.value)}
                  </code>,
                ],
                ['If it were active', `${data.ifActive.variant} (${data.ifActive.reason})`],
                [
                  'Holdout',
                  `${data.holdout.in ? 'in it' : 'not in it'}: bucket ${data.holdout.bucket} of 10,000`,
                ],
              ]}
            />
            <ol className="flex flex-col gap-2">
              {data.rules.map(({ id, why, condition, rollout, variant }, index) => (
                <li key={id} className="rounded-lg border border-line p-3">
                  <p className="font-medium">
                    Rule {index + 1} {variant && <Badge tone="good">{variant}</Badge>}
                  </p>
                  <p className="text-muted">
                    {why} Condition {condition ? 'met' : 'not met'}, rollout bucket {rollout.bucket}{' '}
                    {rollout.in ? 'is' : 'is not'} below {rollout.below}.
                  </p>
                </li>
              ))}
            </ol>
          </div>
        ) : (
          <p className="text-muted">
            Name a person to see their variant, the reason, and how each rule went.
          </p>
        )}
      </Card>
    </div>
  )
}
