import { useQuery } from '@tanstack/react-query'
import { api, unwrap } from '../api/client.ts'
import { useProjectId } from '../api/session.ts'
import { Card, Facts } from '../ui/card.tsx'
import { formatMoney } from '../ui/money.ts'
import { ErrorState, SkeletonLines } from '../ui/states.tsx'

/** The accounts of a pool of gift cards: what its cards hold, and where it came from and went. `growing`: more are being generated. */
export const PoolAccounts = ({ poolId, growing }: { poolId: string; growing: boolean }) => {
  const projectId = useProjectId()
  const ledger = useQuery({
    queryKey: [projectId, 'pool-ledger', poolId, growing],
    queryFn: () =>
      unwrap(
        api.GET('/api/projects/{projectId}/coupon-pools/{id}/ledger', {
          params: { path: { projectId, id: poolId } },
        }),
      ),
  })
  const { data } = ledger
  const money = (amount: number) => formatMoney(amount, data?.currency ?? '')
  return (
    <Card title="Accounts" description="What the cards hold, and where it came from and went." padded>
      {data ? (
        <Facts
          rows={[
            ['Issued', money(data.issued)],
            ['Spent', money(data.spent)],
            ['Expired', money(data.breakage)],
            ['Transferred', money(data.transferred)],
            ['Balance', <b key="b">{money(data.balance)}</b>],
          ]}
        />
      ) : ledger.error ? (
        <ErrorState error={ledger.error} retry={() => void ledger.refetch()} />
      ) : (
        <SkeletonLines />
      )}
    </Card>
  )
}
