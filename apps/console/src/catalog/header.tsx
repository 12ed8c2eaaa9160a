import type { ReactNode } from 'react'
import { PageHeader } from '../ui/card.tsx'
import { PageTabs } from '../ui/page-tabs.tsx'

export const CatalogHeader = ({ actions }: { actions?: ReactNode }) => (
  <>
    <PageHeader
      title="Catalog"
      description="The definitions of events, and the events and records that were refused."
      actions={actions}
    />
    <PageTabs
      label="Catalog"
      tabs={[
        { to: '/p/$projectId/catalog', title: 'Definitions', exact: true },
        { to: '/p/$projectId/catalog/rejected', title: 'Rejected events' },
        { to: '/p/$projectId/catalog/dead-letters', title: 'Dead letters' },
      ]}
    />
  </>
)
