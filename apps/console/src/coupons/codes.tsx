import { useState } from 'react'
import { useChange } from '../api/change.ts'
import { api, unwrap } from '../api/client.ts'
import { useList } from '../api/pages.ts'
import { useMay, useProjectId } from '../api/session.ts'
import type { Coupon } from '../api/types.ts'
import { Card } from '../ui/card.tsx'
import { statusColumn } from '../ui/columns.tsx'
import { ConfirmButton } from '../ui/dialog.tsx'
import { Input, Select } from '../ui/form.tsx'
import { Time } from '../ui/format.tsx'
import { EmptyState } from '../ui/states.tsx'
import { DataTable } from '../ui/table.tsx'

const STATUSES = ['available', 'assigned', 'redeemed', 'revoked'] as const

/** The codes of a pool. `growing`: more are being generated. */
export const Codes = ({ poolId, growing }: { poolId: string; growing: boolean }) => {
  const projectId = useProjectId()
  const mayEdit = useMay('editor')
  const [q, setQ] = useState('')
  const [chosen, setChosen] = useState('')
  const status = STATUSES.find((one) => one === chosen)
  const list = useList<Coupon>([projectId, 'coupons', poolId, q, status, growing], (cursor) =>
    unwrap(
      api.GET('/api/projects/{projectId}/coupons', {
        params: {
          path: { projectId },
          query: { limit: 25, poolId, ...(q && { q }), ...(status && { status }), ...cursor },
        },
      }),
    ),
  )
  const revoke = useChange(
    (id: string) =>
      unwrap(
        api.PATCH('/api/projects/{projectId}/coupons/{id}', {
          params: { path: { projectId, id } },
          body: { status: 'revoked' },
        }),
      ),
    { done: 'Code revoked', quiet: true },
  )
  return (
    <Card title="Codes">
      <search className="grid gap-3 border-y border-line p-4 sm:grid-cols-[1fr_12rem]">
        <Input
          label="Search codes"
          hideLabel
          type="search"
          placeholder="Beginning of a code"
          value={q}
          onChange={(event) => setQ(event.target.value)}
        />
        <Select
          label="Status of codes"
          hideLabel
          value={chosen}
          onChange={(event) => setChosen(event.target.value)}
          options={[['', 'All'], ...STATUSES.map((one) => [one, one] as const)]}
        />
      </search>
      <DataTable
        label="Codes"
        list={list}
        keyOf={({ id }) => id}
        columns={[
          {
            title: 'Code',
            cell: ({ code }) => <code className="block min-w-28 font-mono">{code}</code>,
            sort: ({ code }) => code,
          },
          statusColumn,
          {
            title: 'Assigned',
            wide: true,
            cell: ({ assignedAt }) => <Time at={assignedAt} />,
            sort: ({ assignedAt }) => assignedAt,
          },
          {
            title: 'Redeemed',
            wide: true,
            cell: ({ redeemedAt }) => <Time at={redeemedAt} />,
            sort: ({ redeemedAt }) => redeemedAt,
          },
          ...(mayEdit
            ? [
                {
                  title: 'Actions',
                  align: 'right' as const,
                  cell: ({ id, code, status: now }: Coupon) =>
                    now === 'available' || now === 'assigned' ? (
                      <ConfirmButton
                        small
                        label="Revoke"
                        title={`Revoke ${code}?`}
                        confirm="Revoke"
                        onConfirm={() => revoke.mutateAsync(id)}
                      >
                        The code is refused from then on. This cannot be undone.
                      </ConfirmButton>
                    ) : null,
                },
              ]
            : []),
        ]}
        empty={<EmptyState icon="coupons" title={q || status ? 'No code fits' : 'No codes yet'} />}
      />
    </Card>
  )
}
