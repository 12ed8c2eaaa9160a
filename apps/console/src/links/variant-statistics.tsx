import { wholeList } from '../api/pages.ts'
import type { Link, LinkStats } from '../api/types.ts'
import { Card } from '../ui/card.tsx'
import { formatNumber, formatPercent } from '../ui/format.tsx'
import { type Column, DataTable } from '../ui/table.tsx'
import { formatRevenue } from './revenue.ts'

type Row = LinkStats['variants'][number] & { share: number | null; destination: string | null }

/** The clicks and conversions of each variant of a link. */
export const VariantStatistics = ({ stats, variants }: { stats: LinkStats; variants: Link['variants'] }) => {
  const total = variants.reduce((sum, { weight }) => sum + weight, 0)
  const rows = stats.variants.map((variant): Row => {
    const current = variants.find(({ key }) => key === variant.key)
    return {
      ...variant,
      share: current ? current.weight / total : null,
      destination: current?.destination ?? null,
    }
  })
  return (
    <Card title="Variants">
      <DataTable
        label="Variants"
        columns={columns}
        list={wholeList(rows)}
        keyOf={({ key }) => key}
        empty={null}
      />
    </Card>
  )
}

const columns: Column<Row>[] = [
  {
    title: 'Variant',
    sort: ({ key }) => key,
    cell: ({ key, destination }) => (
      <>
        <span className="font-medium">{key}</span>{' '}
        <span className="text-muted wrap-anywhere">{destination ?? 'removed'}</span>
      </>
    ),
  },
  {
    title: 'Share',
    align: 'right',
    sort: ({ share }) => share,
    cell: ({ share }) => (share === null ? '–' : formatPercent(share)),
  },
  {
    title: 'Clicks',
    align: 'right',
    sort: ({ clicks }) => clicks,
    cell: ({ clicks }) => formatNumber(clicks),
  },
  {
    title: 'Conversions',
    align: 'right',
    sort: ({ conversions }) => conversions.lastTouch.conversions,
    cell: ({ conversions }) => formatNumber(conversions.lastTouch.conversions),
  },
  {
    title: 'Revenue',
    align: 'right',
    wide: true,
    cell: ({ conversions }) => formatRevenue(conversions.lastTouch.revenue),
  },
]
