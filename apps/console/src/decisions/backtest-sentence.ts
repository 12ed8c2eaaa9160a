import { formatCount, formatNumber } from '../ui/format.tsx'

type Backtest = {
  people: number
  replayed: number
  sampled: boolean
  severalVariants: number
  capped: { people: number }
  variants: { variant: string; people: number }[]
}

/** Says in words what a decision would have given people. */
export const backtestSentence = ({
  people,
  replayed,
  sampled,
  severalVariants,
  capped,
  variants,
}: Backtest): string => {
  if (people === 0) return 'Nobody had such an event.'
  const whom = sampled
    ? `Of a sample of ${formatNumber(replayed)} of ${formatCount(people, 'person', 'people')}`
    : `Of ${formatCount(people, 'person', 'people')}`
  const given = variants
    .filter((variant) => variant.people > 0)
    .map((variant) => `${formatNumber(variant.people)} would have got ${variant.variant}`)
  const also = [
    severalVariants > 0 && `${formatNumber(severalVariants)} of them more than one variant`,
    capped.people > 0 && `${formatNumber(capped.people)} would have met the frequency cap`,
  ].filter((part) => part !== false)
  const parts = [...given, ...also]
  const last = parts.pop()
  return `${whom}, ${parts.length === 0 ? last : `${parts.join(', ')} and ${last}`}.`
}
