import { useState } from 'react'
import { useChange } from '../api/change.ts'
import { api, unwrap } from '../api/client.ts'
import { useProjectId } from '../api/session.ts'
import type { Decision } from '../api/types.ts'
import { Form, fromLocalInput, Input, LOCAL_TIME_HINT, Select, TextArea } from '../ui/form.tsx'
import { parseEnteredJson } from '../ui/parse-entered-json.ts'
import { Notice } from '../ui/states.tsx'
import { asIn, draftOf } from './draft.ts'
import { PRODUCTION } from './environment-select.tsx'
import { RuleShares } from './rule-fields.tsx'
import { type Plan, plannedChange } from './scheduled-change.ts'

/** Schedules a change of a decision in an environment: its status and the shares of its rules, or any field as JSON. */
export const ScheduleForm = ({
  decision: stored,
  environment,
  onDone,
}: {
  decision: Decision
  environment: string
  onDone: () => void
}) => {
  const projectId = useProjectId()
  // The decision as it was when the form was opened, so that reading it again does not change what was typed.
  const [original] = useState(() => draftOf(asIn(stored, environment)))
  const [plan, setPlan] = useState<Plan>({ status: '', rules: original.rules })
  const [json, setJson] = useState<string>()
  const changeOf = () =>
    json === undefined
      ? plannedChange(original, plan, environment)
      : (parseEnteredJson(json, 'The change') as object)
  const schedule = useChange(
    async (at: string | undefined) => {
      const change = changeOf()
      if (Object.keys(change).length === 0) throw new Error('Nothing is changed yet. Choose what changes.')
      return unwrap(
        api.POST('/api/projects/{projectId}/decisions/{key}/scheduled-changes', {
          params: { path: { projectId, key: stored.key } },
          body: { at: fromLocalInput(at) ?? '', change },
        }),
      )
    },
    {
      quiet: true,
      done: 'Change scheduled',
      onDone,
      propose: (at) => ({ decision: stored.key, change: changeOf(), at }),
    },
  )
  const setRule = (id: string, part: Partial<Plan['rules'][number]>) =>
    setPlan({ ...plan, rules: plan.rules.map((one) => (one.id === id ? { ...one, ...part } : one)) })
  const showAs = (way: string) => {
    const change = plannedChange(original, plan, environment)
    const text = Object.keys(change).length === 0 ? '' : JSON.stringify(change, null, 2)
    setJson(way === 'json' ? text : undefined)
  }
  return (
    <Form
      submit="Schedule"
      busy={schedule.isPending}
      error={schedule.error}
      names={['at']}
      onCancel={onDone}
      onSubmit={({ at }) => schedule.mutate(at)}
    >
      <div className="grid gap-4 sm:grid-cols-2">
        <Input label="At" name="at" type="datetime-local" required hint={LOCAL_TIME_HINT} />
        <Select
          label="Edit as"
          value={json === undefined ? 'form' : 'json'}
          onChange={(event) => showAs(event.target.value)}
          options={[
            ['form', 'a form'],
            ['json', 'JSON, with any field'],
          ]}
        />
      </div>
      {json === undefined ? (
        <>
          <Select
            label={environment === PRODUCTION ? 'The decision' : `The decision in ${environment}`}
            value={plan.status}
            onChange={(event) => setPlan({ ...plan, status: event.target.value as Plan['status'] })}
            options={[
              ['', 'stays as it is'],
              ['active', 'is turned on'],
              ['paused', 'is turned off: everyone gets the fallback'],
            ]}
          />
          {plan.rules.map((rule, index) => (
            <fieldset key={rule.id} className="flex flex-col gap-3 rounded-lg border border-line p-3">
              <legend className="px-1 font-semibold">
                Rule {index + 1}
                {rule.description && `: ${rule.description}`}
              </legend>
              <RuleShares
                rule={rule}
                number={index + 1}
                variants={original.variants}
                onChange={(part) => setRule(rule.id, part)}
              />
            </fieldset>
          ))}
          {plan.rules !== original.rules && (
            <Notice>All rules become those above, also if somebody changes them before.</Notice>
          )}
        </>
      ) : (
        <TextArea
          label="Change"
          code
          rows={10}
          required
          placeholder='{"holdout": 5}'
          value={json}
          onChange={(event) => setJson(event.target.value)}
          hint="JSON with the fields that change. All others stay as they are then."
        />
      )}
    </Form>
  )
}
