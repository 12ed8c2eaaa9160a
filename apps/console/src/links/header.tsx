import type { ReactNode } from 'react'
import { PageHeader } from '../ui/card.tsx'
import { PageTabs } from '../ui/page-tabs.tsx'

/** The header of the pages on short links. */
export const LinksHeader = ({ actions }: { actions?: ReactNode }) => (
  <>
    <PageHeader
      title="Links"
      description="Short links with their clicks and conversions."
      actions={actions}
    />
    <PageTabs
      label="Links"
      tabs={[
        { to: '/p/$projectId/links', title: 'Links', exact: true },
        { to: '/p/$projectId/links/campaigns', title: 'Campaigns' },
        { to: '/p/$projectId/links/domains', title: 'Domains' },
      ]}
    />
  </>
)
