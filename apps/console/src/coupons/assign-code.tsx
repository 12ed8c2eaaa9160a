import { useChange } from '../api/change.ts'
import { api, unwrap } from '../api/client.ts'
import { useProjectId } from '../api/session.ts'
import { PersonFields, personOf } from '../people/person-fields.tsx'
import { CopyButton } from '../ui/code.tsx'
import { Form } from '../ui/form.tsx'
import { Notice } from '../ui/states.tsx'

/** Assigns a code of a pool to a person, and shows it. */
export const AssignCode = ({ poolId }: { poolId: string }) => {
  const projectId = useProjectId()
  const assign = useChange(
    (values: Record<string, string>) =>
      unwrap(
        api.POST('/api/projects/{projectId}/coupon-pools/{id}/assign', {
          params: { path: { projectId, id: poolId } },
          body: personOf(values),
        }),
      ),
    { quiet: true },
  )
  return (
    <Form
      submit="Assign"
      busy={assign.isPending}
      error={assign.error}
      names={['userId', 'visitorId']}
      onSubmit={(values) => assign.mutate(values)}
    >
      <p className="text-muted">
        A person gets one code of a pool, and only this person can redeem it. Who has one already keeps it.
      </p>
      <PersonFields placeholder="user-1" />
      {assign.data && (
        <Notice tone="success">
          <span className="flex flex-wrap items-center gap-2">
            Their code is <code className="font-mono">{assign.data.code}</code>
            <CopyButton text={assign.data.code} />
          </span>
        </Notice>
      )}
    </Form>
  )
}
