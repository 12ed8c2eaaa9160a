import { PageHeader } from '../ui/card.tsx'
import { PageTabs } from '../ui/page-tabs.tsx'

/** The header of the pages of coupons. */
export const CouponsHeader = ({ action }: { action?: React.ReactNode }) => (
  <>
    <PageHeader
      title="Coupons"
      description="Pools of codes, promotions without codes, loyalty points, and who redeemed them."
      actions={action}
    />
    <PageTabs
      label="Coupons"
      tabs={[
        { to: '/p/$projectId/coupons', title: 'Pools', exact: true },
        { to: '/p/$projectId/coupons/redemptions', title: 'Redemptions' },
        { to: '/p/$projectId/coupons/loyalty', title: 'Loyalty' },
      ]}
    />
  </>
)
