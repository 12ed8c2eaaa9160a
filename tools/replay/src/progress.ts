import { Presets, SingleBar } from 'cli-progress'
import type { Totals } from './sender.ts'

/** The progress of a replay. */
export type State = Totals & {
  skipped: number
  /** Bytes of the file read so far. */
  bytes: number
  waiting: string | undefined
}

type Progress = { update: (state: State) => void; stop: () => void }

type Output = NodeJS.WritableStream & { isTTY?: boolean }

const PLAIN_LINE_EVERY_MS = 3_000

/**
 * Shows the progress of a replay: a bar on a terminal, elsewhere a plain line every few seconds.
 *
 * @param size bytes of the file; undefined for standard input
 */
export const createProgress = (
  output: Output,
  size: number | undefined,
  now = () => performance.now(),
): Progress => (output.isTTY ? barProgress(output, size, now) : plainProgress(output, size, now))

const barProgress = (output: Output, size: number | undefined, now: () => number): Progress => {
  const started = now()
  const bar = new SingleBar(
    {
      format: size ? '{bar} {percentage}% | {text}' : '{text}',
      stream: output,
      barsize: 24,
      hideCursor: true,
      // The text changes also while the value does not.
      forceRedraw: true,
      gracefulExit: false,
    },
    Presets.shades_classic,
  )
  bar.start(size ?? 0, 0, { text: 'starting' })
  return {
    update(state) {
      const rate = state.sent / Math.max((now() - started) / 1000, 0.001)
      const text = state.waiting
        ? `${describe(state)} | waiting: ${state.waiting}`
        : `${describe(state)} | ${formatNumber(rate)}/s`
      bar.update(size ? Math.min(state.bytes, size) : 0, { text })
    },
    stop: () => bar.stop(),
  }
}

const plainProgress = (output: Output, size: number | undefined, now: () => number): Progress => {
  let printed = now()
  let waiting = false
  return {
    update(state) {
      // The beginning and the end of a wait are printed at once.
      const isNews = (state.waiting !== undefined) !== waiting
      if (!isNews && now() - printed < PLAIN_LINE_EVERY_MS) return
      printed = now()
      waiting = state.waiting !== undefined
      const share = size ? `${Math.floor((100 * Math.min(state.bytes, size)) / size)}% ` : ''
      output.write(`${share}${describe(state)}${state.waiting ? `, waiting: ${state.waiting}` : ''}\n`)
    },
    stop() {},
  }
}

const describe = (state: State): string =>
  [
    `${formatNumber(state.sent)} sent`,
    state.failed > 0 ? `${formatNumber(state.failed)} failed` : '',
    state.skipped > 0 ? `${formatNumber(state.skipped)} skipped` : '',
  ]
    .filter((part) => part !== '')
    .join(', ')

/** An integer with separators: 8,000. */
export const formatNumber = (value: number): string => Math.round(value).toLocaleString('en')
