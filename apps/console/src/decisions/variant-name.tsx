import { Badge } from '../ui/badge.tsx'
import { formatPercent } from '../ui/format.tsx'

/** The name of a variant in a table, and whether it is the control. */
export const VariantName = ({ variant, control }: { variant: string; control: boolean }) => (
  <span className="flex min-w-16 flex-wrap items-center gap-x-2 gap-y-1 font-medium wrap-anywhere">
    {variant} {control && <Badge>control</Badge>}
  </span>
)

/** A lift with its sign. */
export const signed = (lift: number): string => `${lift > 0 ? '+' : ''}${formatPercent(lift)}`
