import { useState } from 'react'
import { useChange } from '../api/change.ts'
import { api, unwrap } from '../api/client.ts'
import { useProjectId } from '../api/session.ts'
import type { Settings } from '../api/types.ts'
import { Card } from '../ui/card.tsx'
import { Checkboxes } from '../ui/checkboxes.tsx'
import { Json } from '../ui/code.tsx'
import { Form, Select } from '../ui/form.tsx'
import { Notice } from '../ui/states.tsx'

type Approvals = NonNullable<Settings['approvals']>
type Role = NonNullable<Approvals['roles']>[number]

const ROLES = [
  ['editor', 'Editors'],
  ['admin', 'Admins'],
  ['owner', 'Owners'],
] as const
const COUNTS = [
  ['0', 'no approval'],
  ['1', '1 approval'],
  ['2', '2 approvals'],
  ['3', '3 approvals'],
] as const

/** Whether the form can show it: the project and production, with the same roles. */
const isSimple = ({ roles, environments = {} }: Approvals): boolean =>
  Object.entries(environments).every(
    ([name, own]) => name === 'production' && `${own.roles ?? ''}` === `${roles ?? ''}`,
  )

/** Which approvals changes of decisions need, for admins. */
export const ApprovalsCard = ({ settings: { approvals = {} } }: { settings: Settings }) => (
  <Card
    title="Approvals"
    description="Others than the author approve changes of decisions. Turning one off never needs it."
    padded
  >
    {isSimple(approvals) ? (
      <ApprovalsForm approvals={approvals} />
    ) : (
      <>
        <Notice>Environments have approvals of their own, which the API sets.</Notice>
        <Json label="The setting as JSON" value={approvals} />
      </>
    )}
  </Card>
)

const ApprovalsForm = ({ approvals }: { approvals: Approvals }) => {
  const projectId = useProjectId()
  const [everywhere, setEverywhere] = useState(`${approvals.required ?? 0}`)
  const [production, setProduction] = useState(`${approvals.environments?.production?.required ?? 0}`)
  const [roles, setRoles] = useState<readonly Role[]>(approvals.roles ?? ROLES.map(([role]) => role))
  const save = useChange(
    () => {
      const by = roles.length === ROLES.length ? {} : { roles: [...roles] }
      const own = { production: { required: Number(production), ...by } }
      const next = {
        ...(everywhere !== '0' && { required: Number(everywhere) }),
        ...by,
        ...(production !== '0' && { environments: own }),
      }
      return unwrap(
        api.PATCH('/api/projects/{projectId}/settings', {
          params: { path: { projectId } },
          body: { approvals: everywhere === '0' && production === '0' ? null : next },
        }),
      )
    },
    { done: 'Approvals saved', quiet: true },
  )
  return (
    <Form submit="Save approvals" busy={save.isPending} error={save.error} onSubmit={() => save.mutate()}>
      <Select
        label="Changes need"
        value={everywhere}
        onChange={(event) => setEverywhere(event.target.value)}
        options={COUNTS}
      />
      <Select
        label="In production instead"
        value={production}
        onChange={(event) => setProduction(event.target.value)}
        options={[['0', 'the same'], ...COUNTS.slice(1)]}
      />
      <Checkboxes label="Who may approve" options={ROLES} value={roles} onChange={setRoles} />
    </Form>
  )
}
