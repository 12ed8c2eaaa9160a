import { useEffect, useState } from 'react'
import { useProjectId } from '../api/session.ts'
import { useUrlState } from '../api/url-state.ts'
import { Card } from '../ui/card.tsx'
import { Form, Input } from '../ui/form.tsx'
import { FoundPeople } from './found-people.tsx'
import { PeopleHeader } from './header.tsx'
import { RecentPeople } from './recent-people.tsx'

/** Finds people, and lists who was here last. */
export const People = () => {
  const projectId = useProjectId()
  const [{ search = '' }, setSearch] = useUrlState<'search'>()
  const [text, setText] = useState(search)
  // The browser's back button changes it.
  useEffect(() => setText(search), [search])
  return (
    <>
      <PeopleHeader description="Find someone by an id, an email address or a trait." />
      <Card className="mb-4" padded>
        <Form submit="Find" onSubmit={(values) => setSearch({ search: values.search?.trim() ?? '' })}>
          <Input
            label="Id, email or trait"
            name="search"
            hint="The whole id, the beginning of the email address, or a trait as plan=pro"
            value={text}
            onChange={(event) => setText(event.target.value)}
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
