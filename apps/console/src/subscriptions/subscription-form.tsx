import { useState } from 'react'
import { useChange } from '../api/change.ts'
import { api, unwrap } from '../api/client.ts'
import { useProjectId } from '../api/session.ts'
import type { Subscription } from '../api/types.ts'
import { useDashboards } from '../dashboards/dashboard-api.ts'
import { Checkboxes } from '../ui/checkboxes.tsx'
import { Form, Input, Select } from '../ui/form.tsx'
import { localZone } from '../ui/local-zone.ts'
import { knownRoles, ROLES, type Role } from '../ui/roles.ts'

/** Creates a subscription, or changes one. Members by id are set by the API; the form keeps them. */
export const SubscriptionForm = ({
  subscription,
  onDone,
  onCancel,
}: {
  subscription?: Subscription
  onDone: (saved: { id: string }) => void
  onCancel: () => void
}) => {
  const projectId = useProjectId()
  const dashboards = useDashboards().rows
  const [roles, setRoles] = useState<readonly Role[]>(knownRoles(subscription?.emailRoles ?? ['owner']))
  const [dashboardId, setDashboardId] = useState(subscription?.dashboardId ?? '')
  const save = useChange(
    async ({ name = '', frequency, hour = '', timeZone = '' }: Record<string, string>) => {
      const body = {
        name: name.trim(),
        dashboardId: dashboardId || (dashboards[0]?.id ?? ''),
        frequency: frequency as Subscription['frequency'],
        hour: Number(hour),
        timeZone: timeZone.trim() || 'UTC',
        emailRoles: [...roles],
      }
      return subscription
        ? unwrap(
            api.PATCH('/api/projects/{projectId}/subscriptions/{id}', {
              params: { path: { projectId, id: subscription.id } },
              body,
            }),
          )
        : unwrap(
            api.POST('/api/projects/{projectId}/subscriptions', { params: { path: { projectId } }, body }),
          )
    },
    { quiet: true, onDone, done: 'Subscription saved' },
  )
  return (
    <Form
      submit={subscription ? 'Save' : 'Create subscription'}
      busy={save.isPending}
      error={save.error}
      names={['name', 'timeZone']}
      onCancel={onCancel}
      onSubmit={(values) => save.mutate(values)}
    >
      <Input label="Name" name="name" required maxLength={200} defaultValue={subscription?.name} />
      <Select
        label="Dashboard"
        value={dashboardId || dashboards[0]?.id}
        onChange={({ target }) => setDashboardId(target.value)}
        options={dashboards.map(({ id, name }) => [id, name] as const)}
      />
      <Select
        label="Sent"
        name="frequency"
        defaultValue={subscription?.frequency ?? 'week'}
        options={[
          ['day', 'every day'],
          ['week', 'on Mondays, about the week'],
          ['month', 'on the first, about the month'],
        ]}
      />
      <Input
        label="Hour"
        name="hour"
        type="number"
        min={0}
        max={23}
        required
        defaultValue={subscription?.hour ?? 7}
      />
      <Input
        label="Time zone"
        name="timeZone"
        hint="In which days begin and the hour is counted."
        defaultValue={subscription?.timeZone ?? localZone()}
      />
      <Checkboxes label="Email to" options={ROLES} value={roles} onChange={setRoles} />
    </Form>
  )
}
