import { cpus, totalmem } from 'node:os'
import type { Figures } from './benchmark.ts'
import type { Comparison } from './compare.ts'

/** A description of the machine in one line. */
export const machine = (): string => {
  const [cpu] = cpus()
  return `${cpus().length} × ${cpu?.model}, ${Math.round(totalmem() / 2 ** 30)} GiB, Node ${process.version}\n`
}

const COLUMNS = ['', 'ours /s', 'bare /s', 'ratio (min–max)', 'goal', 'CPU µs', 'p99 ms', 'peak MB', '']
/** The header of a Markdown table. */
export const tableHead = `${row(COLUMNS)}\n${row(COLUMNS.map(() => '---'))}`

/** A table row: our figures, and the baseline's after a slash. */
export const tableRow = ({ name, ours, baseline, ratio, ratios, goal, met, figures }: Comparison): string =>
  row([
    name,
    rate(ours),
    rate(baseline),
    `${ratio.toFixed(2)} (${Math.min(...ratios).toFixed(2)}–${Math.max(...ratios).toFixed(2)})`,
    goal === 0 ? '' : `${goal}`,
    pair(figures, ({ cpuMicros }) => cpuMicros),
    pair(figures, ({ p99Ms }) => p99Ms),
    pair(figures, ({ peakRssMb }) => peakRssMb),
    goal === 0 ? '' : met ? 'met' : 'not met',
  ])

/** What a unit takes on disk, in a line below the table; `undefined` when that was not measured. */
export const sizesLine = ({ name, unit, sizes }: Comparison): string | undefined =>
  sizes.length === 0
    ? undefined
    : `${name}, bytes for one of the ${unit}: ${sizes.map((size) => `${size.name} ${size.bytes.toFixed(0)} (at most ${size.atMost})`).join(', ')}`

const rate = (perSecond: number): string => Math.round(perSecond).toLocaleString('en')

const pair = (
  { ours, baseline }: Comparison['figures'],
  read: (figures: Figures) => number | null,
): string => {
  const [mine, bare] = [read(ours), read(baseline)].map((value) => (value === null ? '–' : short(value)))
  return mine === '–' && bare === '–' ? '' : `${mine} / ${bare}`
}

const short = (value: number): string => (value < 10 ? value.toFixed(1) : value.toFixed(0))

function row(cells: readonly string[]): string {
  return `| ${cells.join(' | ')} |`
}
