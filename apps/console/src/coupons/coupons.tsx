import { Link } from '@tanstack/react-router'
import { api, unwrap } from '../api/client.ts'
import { useList } from '../api/pages.ts'
import { useProjectId } from '../api/session.ts'
import type { CouponPool } from '../api/types.ts'
import { useNavigateFromHere, useUrlState } from '../api/url-state.ts'
import { ApiCommand } from '../ui/api-command.tsx'
import { Button, For } from '../ui/button.tsx'
import { Card } from '../ui/card.tsx'
import { statusColumn } from '../ui/columns.tsx'
import { Modal } from '../ui/dialog.tsx'
import { formatNumber, Time } from '../ui/format.tsx'
import { formatMoney } from '../ui/money.ts'
import { EmptyState } from '../ui/states.tsx'
import { DataTable, rowLinkClass } from '../ui/table.tsx'
import { formatDiscount } from './discount.ts'
import { CouponsHeader } from './header.tsx'
import { PoolForm } from './pool-form.tsx'
import { Redemptions } from './redemptions.tsx'

const KIND_NAMES = { unique: 'unique codes', automatic: 'automatic, without codes', balance: 'gift cards' }

/** What a pool grants, or what each of its gift cards holds. */
const termsOf = ({ kind, discount, amount, currency }: CouponPool): string =>
  kind === 'balance' ? formatMoney(amount ?? 0, currency ?? '') : formatDiscount(discount)

/** The project's pools of coupons. */
export const Coupons = () => {
  const projectId = useProjectId()
  const navigate = useNavigateFromHere()
  const [search, setSearch] = useUrlState<'new'>()
  const list = useList<CouponPool>(
    [projectId, 'pools'],
    (cursor) =>
      unwrap(
        api.GET('/api/projects/{projectId}/coupon-pools', {
          params: { path: { projectId }, query: { limit: 50, ...cursor } },
        }),
      ),
    { refetchInterval: 3_000 },
  )
  const open = ({ id }: CouponPool) =>
    void navigate({ to: '/p/$projectId/coupons/$id', params: { projectId, id } })
  const close = () => setSearch({ new: '' }, { replace: true })
  const create = (
    <For atLeast="editor">
      <Button look="primary" icon="plus" onClick={() => setSearch({ new: '1' })}>
        Create pool
      </Button>
    </For>
  )
  return (
    <>
      <CouponsHeader action={create} />
      <Card>
        <DataTable
          label="Pools"
          list={list}
          keyOf={({ id }) => id}
          onOpen={open}
          columns={[
            {
              title: 'Pool',
              sort: ({ name }) => name,
              cell: ({ id, name, kind, code }) => (
                <>
                  <Link to="/p/$projectId/coupons/$id" params={{ projectId, id }} className={rowLinkClass}>
                    {name}
                  </Link>
                  <span className="block text-muted">
                    {kind === 'shared' ? `one code: ${code}` : KIND_NAMES[kind]}
                  </span>
                </>
              ),
            },
            statusColumn,
            { title: 'Discount', wide: true, cell: termsOf },
            {
              title: 'Codes',
              align: 'right',
              wide: true,
              cell: ({ kind, generated }) => (kind === 'automatic' ? '–' : formatNumber(generated)),
              sort: ({ generated }) => generated,
            },
            {
              title: 'Redeemed',
              align: 'right',
              cell: ({ kind, redeemed }) => (kind === 'balance' ? '–' : formatNumber(redeemed)),
              sort: ({ redeemed }) => redeemed,
            },
            {
              title: 'Expires',
              align: 'right',
              wide: true,
              cell: ({ expiresAt }) => <Time at={expiresAt} as="day" />,
              sort: ({ expiresAt }) => expiresAt,
            },
          ]}
          empty={
            <EmptyState icon="coupons" title="No coupons yet" action={create}>
              <p className="mb-4">
                A pool holds codes of one kind, from one for all to millions, each for one person. An
                automatic one has no codes and applies to every cart that meets its rules.
              </p>
              <For atLeast="editor">
                <ApiCommand
                  does="creates a pool"
                  resource="coupon-pools"
                  body={{
                    name: 'Autumn',
                    kind: 'unique',
                    size: 1000,
                    discount: { type: 'percent', value: 10 },
                  }}
                />
              </For>
            </EmptyState>
          }
        />
      </Card>
      <For atLeast="editor">
        <Modal open={search.new === '1'} onClose={close} title="Create pool">
          <PoolForm onDone={open} onCancel={close} />
        </Modal>
      </For>
    </>
  )
}

/** All redemptions of the project. */
export const AllRedemptions = () => (
  <>
    <CouponsHeader />
    <Card>
      <Redemptions />
    </Card>
  </>
)
