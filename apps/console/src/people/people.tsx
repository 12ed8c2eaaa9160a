import { useProjectId } from '../api/session.ts'
import { useUrlState } from '../api/url-state.ts'
import { Card, PageHeader } from '../ui/card.tsx'
import { Form, Input } from '../ui/form.tsx'
import { FoundPeople } from './found-people.tsx'
import { RecentPeople } from './recent-people.tsx'

/** Finds people, and lists who was here last. */
export const People = () => {
  const projectId = useProjectId()
  const [{ search = '' }, setSearch] = useUrlState<'search'>()
  return (
    <>
      <PageHeader title="People" description="Find someone by an id, an email address or a trait." />
      <Card className="mb-4" padded>
        <Form submit="Find" onSubmit={(values) => setSearch({ search: values.search?.trim() ?? '' })}>
          <Input
            key={search}
            label="Id, email or trait"
            name="search"
            hint="The whole id, the beginning of the email address, or a trait as plan=pro"
            defaultValue={search}
            maxLength={200}
          />
        </Form>
      </Card>
      {search !== '' && (
        <Card className="mb-4" title="Found">
          <FoundPeople key={`${projectId} ${search}`} search={search} />
        </Card>
      )}
      <Card title="Here lately" description="People of the latest events.">
        <RecentPeople />
      </Card>
    </>
  )
}
