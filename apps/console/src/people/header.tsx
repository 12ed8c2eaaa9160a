import type { ReactNode } from 'react'
import { PageHeader } from '../ui/card.tsx'
import { PageTabs } from '../ui/page-tabs.tsx'

/** The header of the pages on people and segments. */
export const PeopleHeader = ({ description, actions }: { description: string; actions?: ReactNode }) => (
  <>
    <PageHeader title="People" description={description} actions={actions} />
    <PageTabs
      label="People"
      tabs={[
        { to: '/p/$projectId/people', title: 'People', exact: true },
        { to: '/p/$projectId/people/segments', title: 'Segments' },
      ]}
    />
  </>
)
