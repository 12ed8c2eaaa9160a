import type { ReactNode } from 'react'
import { RangeFields } from '../explore/common-fields.tsx'
import type { Range } from '../explore/time-range.ts'

/** The tiles of a dashboard, below the range that all of them show; without one, each shows its own. */
export const Tiles = ({
  range,
  onRange,
  children,
}: {
  range: Range | undefined
  onRange: (range: Range | undefined) => void
  children: ReactNode
}) => (
  <>
    <search aria-label="All insights" className="mb-4 grid max-w-3xl gap-3 sm:grid-cols-3">
      <RangeFields own="As saved, else 30 days" range={range} onChange={onRange} />
    </search>
    <ul aria-label="Insights" className="grid gap-4 lg:grid-cols-2">
      {children}
    </ul>
  </>
)
