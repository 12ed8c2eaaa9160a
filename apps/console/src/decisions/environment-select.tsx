import { useQuery } from '@tanstack/react-query'
import { api, unwrap } from '../api/client.ts'
import { useProjectId } from '../api/session.ts'
import { Select } from '../ui/form.tsx'

export const PRODUCTION = 'production'

/** The environments of the project, production first. */
export const useEnvironments = (): { key: string; name: string; builtIn: boolean }[] => {
  const projectId = useProjectId()
  const read = useQuery({
    queryKey: [projectId, 'environments'],
    queryFn: () =>
      unwrap(api.GET('/api/projects/{projectId}/environments', { params: { path: { projectId } } })),
  })
  return read.data?.environments ?? [{ key: PRODUCTION, name: PRODUCTION, builtIn: true }]
}

/** Selects an environment of the project. */
export const EnvironmentSelect = ({
  value,
  onChange,
  ...field
}: {
  label: string
  hint?: string
  value: string
  onChange: (environment: string) => void
}) => (
  <Select
    {...field}
    value={value}
    onChange={(event) => onChange(event.target.value)}
    options={useEnvironments().map(({ key, name }) => [key, name] as const)}
  />
)
