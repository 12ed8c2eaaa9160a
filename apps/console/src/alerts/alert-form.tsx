import { useState } from 'react'
import { useChange } from '../api/change.ts'
import { api, unwrap } from '../api/client.ts'
import { useProjectId } from '../api/session.ts'
import type { Alert, Insight } from '../api/types.ts'
import { useInsights } from '../dashboards/dashboard-api.ts'
import { Checkboxes } from '../ui/checkboxes.tsx'
import { Form, Input, Select, Switch } from '../ui/form.tsx'
import { localZone } from '../ui/local-zone.ts'
import { knownRoles, ROLES, type Role } from '../ui/roles.ts'

const FIGURES = [
  ['visitors', 'Web: visitors'],
  ['visits', 'Web: visits'],
  ['views', 'Web: page views'],
  ['bounceRate', 'Web: bounce rate'],
  ['visitSeconds', 'Web: seconds of a visit'],
] as const
type Figure = (typeof FIGURES)[number][0]
type Condition = Alert['condition']

/** Creates an alert, or changes one. */
export const AlertForm = ({
  alert,
  onDone,
  onCancel,
}: {
  alert?: Alert
  onDone: (saved: { id: string }) => void
  onCancel: () => void
}) => {
  const projectId = useProjectId()
  const insights = useInsights().rows.filter(({ kind }) => kind === 'trends' || kind === 'funnel')
  const [type, setType] = useState<Condition['type']>(alert?.condition.type ?? 'unusual')
  const [source, setSource] = useState<string>(
    alert?.measure.insightId ?? alert?.measure.web?.figure ?? 'visitors',
  )
  const [roles, setRoles] = useState<readonly Role[]>(knownRoles(alert?.emailRoles ?? ['owner']))
  const [webhooks, setWebhooks] = useState(alert?.webhooks ?? true)
  const watched = insights.find(({ id }) => id === source)
  const save = useChange(
    async (values: Record<string, string>) => {
      const { name = '', value = '', direction, interval, timeZone = '', slackUrl = '' } = values
      const body = {
        name: name.trim(),
        measure: measureOf(source, watched, values, alert),
        condition: {
          type,
          ...(type !== 'unusual' && { value: Number(value) }),
          ...((type === 'unusual' || type === 'changedBy') && {
            direction: direction as NonNullable<Condition['direction']>,
          }),
        },
        interval: interval as Alert['interval'],
        timeZone: timeZone.trim() || 'UTC',
        emailRoles: [...roles],
        webhooks,
        slackUrl: slackUrl.trim() || null,
      }
      return alert
        ? unwrap(
            api.PATCH('/api/projects/{projectId}/alerts/{id}', {
              params: { path: { projectId, id: alert.id } },
              body,
            }),
          )
        : unwrap(api.POST('/api/projects/{projectId}/alerts', { params: { path: { projectId } }, body }))
    },
    { quiet: true, onDone, done: 'Alert saved' },
  )
  return (
    <Form
      submit={alert ? 'Save' : 'Create alert'}
      busy={save.isPending}
      error={save.error}
      names={['name', 'timeZone', 'slackUrl']}
      onCancel={onCancel}
      onSubmit={(values) => save.mutate(values)}
    >
      <Input label="Name" name="name" required maxLength={200} defaultValue={alert?.name} />
      <Select
        label="Watches"
        value={source}
        onChange={({ target }) => setSource(target.value)}
        options={[...FIGURES, ...insights.map(({ id, name }) => [id, name] as const)]}
      />
      <MeasureFields insight={watched} measure={alert?.measure} />
      <Select
        label="Fires when it is"
        value={type}
        onChange={({ target }) => setType(target.value as Condition['type'])}
        options={[
          ['unusual', 'unusual for the hour and weekday'],
          ['above', 'above a value'],
          ['below', 'below a value'],
          ['changedBy', 'changed by percent'],
        ]}
      />
      {type !== 'unusual' && (
        <Input
          label={type === 'changedBy' ? 'Percent' : 'Value'}
          name="value"
          type="number"
          step="any"
          required
          defaultValue={alert?.condition.value}
        />
      )}
      {(type === 'unusual' || type === 'changedBy') && (
        <Select
          label="Direction"
          name="direction"
          defaultValue={alert?.condition.direction ?? 'either'}
          options={[
            ['either', 'up or down'],
            ['up', 'up'],
            ['down', 'down'],
          ]}
        />
      )}
      <Select
        label="Interval"
        name="interval"
        defaultValue={alert?.interval ?? 'hour'}
        options={[
          ['hour', 'hour'],
          ['day', 'day'],
        ]}
      />
      <Input
        label="Time zone"
        name="timeZone"
        hint="In which days begin, and hours are compared with those of the same weekday."
        defaultValue={alert?.timeZone ?? localZone()}
      />
      <Checkboxes label="Email to" options={ROLES} value={roles} onChange={setRoles} />
      <Switch
        label="Webhooks"
        hint="Those that subscribe to alert.fired and alert.resolved."
        checked={webhooks}
        onChange={setWebhooks}
      />
      <Input
        label="Slack address"
        name="slackUrl"
        placeholder="https://hooks.slack.com/services/…"
        hint="Of an incoming webhook of Slack. It is a secret and is never shown again."
        defaultValue={alert?.slackUrl ?? ''}
      />
    </Form>
  )
}

/** What an insight needs beside its id. */
const MeasureFields = ({
  insight,
  measure,
}: {
  insight: Insight | undefined
  measure: Alert['measure'] | undefined
}) => {
  if (!insight) return null
  if (insight.kind === 'funnel')
    return (
      <Input
        label="Step"
        name="step"
        type="number"
        min={1}
        max={9}
        hint="Counted from 0. Left empty, the last one."
        defaultValue={measure?.step}
      />
    )
  return (
    <>
      <Input
        label="Series"
        name="series"
        type="number"
        min={0}
        max={9}
        hint="Counted from 0."
        defaultValue={measure?.series ?? 0}
      />
      <Input
        label="Currency"
        name="currency"
        maxLength={3}
        placeholder="EUR"
        hint="Only of revenue."
        defaultValue={measure?.currency ?? ''}
      />
    </>
  )
}

const measureOf = (
  source: string,
  insight: Insight | undefined,
  { series = '', currency = '', step = '' }: Record<string, string>,
  alert: Alert | undefined,
): Alert['measure'] => {
  // Filters are set by the API; the form keeps them.
  const filters = alert?.measure.web?.filters
  if (!insight) return { web: { figure: source as Figure, ...(filters && { filters }) } }
  return {
    insightId: insight.id,
    ...(series !== '' && { series: Number(series) }),
    ...(currency.trim() !== '' && { currency: currency.trim().toUpperCase() }),
    ...(step !== '' && { step: Number(step) }),
  }
}
