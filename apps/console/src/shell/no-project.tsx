import { useNavigate } from '@tanstack/react-router'
import { AccountFrame } from '../account/frame.tsx'
import { useChange } from '../api/change.ts'
import { api, unwrap } from '../api/client.ts'
import { Form, Input } from '../ui/form.tsx'

/** Shown to users without a project. */
export const NoProject = () => {
  const navigate = useNavigate()
  const create = useChange((name: string) => unwrap(api.POST('/api/projects', { body: { name } })), {
    quiet: true,
    onDone: ({ id }) => void navigate({ to: '/p/$projectId', params: { projectId: id } }),
  })
  return (
    <AccountFrame title="Create a project">
      <Form
        submit="Create project"
        busy={create.isPending}
        error={create.error}
        names={['name']}
        onSubmit={({ name = '' }) => create.mutate(name)}
      >
        <p className="text-muted">
          You are a member of no project. Ask to be invited to one, or create your own.
        </p>
        <Input label="Name" name="name" required maxLength={200} />
      </Form>
    </AccountFrame>
  )
}
