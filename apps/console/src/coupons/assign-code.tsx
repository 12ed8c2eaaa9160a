import { useChange } from '../api/change.ts'
import { api, unwrap } from '../api/client.ts'
import { useProjectId } from '../api/session.ts'
import { CopyButton } from '../ui/code.tsx'
import { Form, Input, Select } from '../ui/form.tsx'
import { Notice } from '../ui/states.tsx'

/** Assigns a code of a pool to a person, and shows it. */
export const AssignCode = ({ poolId }: { poolId: string }) => {
  const projectId = useProjectId()
  const assign = useChange(
    ({ by, id = '' }: Record<string, string>) =>
      unwrap(
        api.POST('/api/projects/{projectId}/coupon-pools/{id}/assign', {
          params: { path: { projectId, id: poolId } },
          body: by === 'visitorId' ? { visitorId: id } : { userId: id },
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
      <div className="grid gap-4 sm:grid-cols-2">
        <Select
          label="Known by"
          name="by"
          options={[
            ['userId', 'User id'],
            ['visitorId', 'Visitor id'],
          ]}
        />
        <Input label="Id" name="id" required maxLength={200} placeholder="user-1" />
      </div>
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
