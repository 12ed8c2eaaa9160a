import { useQuery } from '@tanstack/react-query'
import { useNavigate } from '@tanstack/react-router'
import { api, unwrap } from '../api/client.ts'
import { useProjectId } from '../api/session.ts'
import { useUrlState } from '../api/url-state.ts'
import { Card, PageHeader } from '../ui/card.tsx'
import { Form, Input, Select } from '../ui/form.tsx'
import { EmptyState, ErrorState, SkeletonLines } from '../ui/states.tsx'
import { RecentPeople } from './recent-people.tsx'

/** Finds a person by an id, and lists who was here last. */
export const People = () => {
  const projectId = useProjectId()
  const navigate = useNavigate()
  const [{ by = 'userId', id = '' }, setSearch] = useUrlState<'by' | 'id'>()
  const found = useQuery({
    queryKey: [projectId, 'find-person', by, id],
    enabled: id !== '',
    queryFn: async () => {
      const query = by === 'visitorId' ? { visitorId: id } : { userId: id }
      const { data } = await unwrap(
        api.GET('/api/projects/{projectId}/profiles', { params: { path: { projectId }, query } }),
      )
      if (data[0]) await navigate({ to: '/p/$projectId/people/$id', params: { projectId, id: data[0].id } })
      return data
    },
  })
  return (
    <>
      <PageHeader
        title="People"
        description="Find somebody by the id that your shop or their browser uses."
      />
      <Card className="mb-4" padded>
        <Form
          submit="Find"
          busy={found.isFetching}
          onSubmit={(values) => setSearch({ by: values.by ?? '', id: values.id ?? '' })}
        >
          <div className="grid gap-3 sm:grid-cols-[12rem_1fr]">
            <Select
              label="Search by"
              name="by"
              defaultValue={by}
              options={[
                ['userId', 'User id'],
                ['visitorId', 'Visitor id'],
              ]}
            />
            <Input label="Id" name="id" required defaultValue={id} maxLength={200} />
          </div>
        </Form>
      </Card>
      {id !== '' && (
        <Card className="mb-4">
          {found.isPending ? (
            <SkeletonLines lines={2} />
          ) : found.error ? (
            <ErrorState error={found.error} retry={() => void found.refetch()} />
          ) : (
            <EmptyState icon="people" title={`No person with the id ${id}`}>
              Ids are compared exactly, with capital letters.
            </EmptyState>
          )}
        </Card>
      )}
      <Card title="Here lately" description="People of the latest events.">
        <RecentPeople />
      </Card>
    </>
  )
}
