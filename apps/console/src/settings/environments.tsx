import { useChange } from '../api/change.ts'
import { api, unwrap } from '../api/client.ts'
import { useProjectId } from '../api/session.ts'
import { useEnvironments } from '../decisions/environment-select.tsx'
import { Badge } from '../ui/badge.tsx'
import { Card } from '../ui/card.tsx'
import { ConfirmButton } from '../ui/dialog.tsx'
import { Form, Input } from '../ui/form.tsx'

/** The environments of the project, for admins. */
export const Environments = () => {
  const projectId = useProjectId()
  const environments = useEnvironments()
  const create = useChange(
    ({ key = '', name }: Record<string, string>) =>
      unwrap(
        api.POST('/api/projects/{projectId}/environments', {
          params: { path: { projectId } },
          body: { key, ...(name && { name }) },
        }),
      ),
    { quiet: true, done: 'Environment created' },
  )
  const remove = useChange(
    (key: string) =>
      unwrap(
        api.DELETE('/api/projects/{projectId}/environments/{key}', { params: { path: { projectId, key } } }),
      ),
    { quiet: true, done: 'Environment deleted' },
  )
  return (
    <Card
      title="Environments"
      description="Decisions have a status and rules in each. An API key belongs to one."
      padded
    >
      <ul className="mb-4 flex flex-col gap-2">
        {environments.map(({ key, name, builtIn }) => (
          <li key={key} className="flex min-h-7 items-center justify-between gap-3">
            <span className="min-w-0">
              <span className="font-medium break-words">{name}</span>{' '}
              {name !== key && <code className="font-mono text-muted">{key}</code>}
            </span>
            {builtIn ? (
              <Badge>always there</Badge>
            ) : (
              <ConfirmButton
                small
                label="Delete"
                title={`Delete ${name}?`}
                confirm="Delete"
                onConfirm={() => remove.mutateAsync(key)}
              >
                This works when no API key and no decision uses it.
              </ConfirmButton>
            )}
          </li>
        ))}
      </ul>
      <Form
        submit="Add environment"
        busy={create.isPending}
        error={create.error}
        names={['key', 'name']}
        onSubmit={(values, form) => create.mutate(values, { onSuccess: () => form.reset() })}
      >
        <div className="grid gap-3 sm:grid-cols-2">
          <Input
            label="Key of the environment"
            name="key"
            required
            maxLength={50}
            placeholder="preview"
            hint="Lower-case letters, digits and -."
          />
          <Input label="Name of the environment" name="name" maxLength={200} placeholder="Previews" />
        </div>
      </Form>
    </Card>
  )
}
