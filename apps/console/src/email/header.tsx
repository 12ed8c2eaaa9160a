import type { ReactNode } from 'react'
import { PageHeader } from '../ui/card.tsx'
import { PageTabs } from '../ui/page-tabs.tsx'

export const EmailHeader = ({ actions }: { actions?: ReactNode }) => (
  <>
    <PageHeader title="Email" description="Emails that events send." actions={actions} />
    <PageTabs
      label="Email"
      tabs={[
        { to: '/p/$projectId/email', title: 'Triggers', exact: true },
        { to: '/p/$projectId/email/deliveries', title: 'Deliveries' },
        { to: '/p/$projectId/email/suppressions', title: 'Suppressions' },
        { to: '/p/$projectId/email/senders', title: 'Senders' },
      ]}
    />
  </>
)
