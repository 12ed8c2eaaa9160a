import { parseAccessLogLine } from './access-log.ts'
import { type Line, readLines } from './lines.ts'
import { toPageView } from './page-view.ts'
import { type Failure, inBatches, type Outgoing, type SenderOptions, sendBatches } from './sender.ts'

/** The result of a replay: `lines` = `sent` + `skipped` when everything was answered. */
export type Report = {
  /** Lines read, blank ones left out. */
  lines: number
  sent: number
  accepted: number
  failed: number
  skipped: number
  /** Bytes of the (compressed) source that have been read. */
  bytes: number
  /** Numbers of the first few skipped lines. */
  skippedLines: number[]
  /** The first few events that the server did not accept. */
  failures: Failure[]
  waiting: string | undefined
  /** The error that ended the replay early. */
  error: unknown
}

type ReplayOptions = Omit<SenderOptions, 'onProgress' | 'onWaiting' | 'onFailure'> & {
  source: AsyncIterable<Uint8Array>
  site?: string | undefined
  onChange?: (report: Readonly<Report>) => void
}

const SHOWN = 5

/** Sends the lines of a log as events. Errors are part of the report. */
export const replay = async (options: ReplayOptions): Promise<Report> => {
  const report: Report = {
    lines: 0,
    sent: 0,
    accepted: 0,
    failed: 0,
    skipped: 0,
    bytes: 0,
    skippedLines: [],
    failures: [],
    waiting: undefined,
    error: undefined,
  }
  const changed = () => options.onChange?.(report)
  const skip = (line: Line) => {
    report.skipped += 1
    if (report.skippedLines.length < SHOWN) report.skippedLines.push(line.number)
  }
  async function* events(): AsyncGenerator<Outgoing> {
    const onRead = (bytes: number) => {
      report.bytes = bytes
    }
    for await (const line of readLines(options.source, onRead)) {
      if (isBlank(line)) continue
      report.lines += 1
      const entry = line.cut ? undefined : parseAccessLogLine(line.bytes)
      if (entry) yield { line: line.number, json: JSON.stringify(toPageView(entry, line, options.site)) }
      else skip(line)
    }
  }
  try {
    await sendBatches(inBatches(events()), {
      ...options,
      onProgress(totals) {
        Object.assign(report, totals)
        changed()
      },
      onWaiting(reason) {
        report.waiting = reason
        changed()
      },
      onFailure(failure) {
        if (report.failures.length < SHOWN) report.failures.push(failure)
      },
    })
  } catch (error) {
    report.error = error
  }
  return report
}

const isBlank = (line: Line): boolean => !line.bytes.some((byte) => byte !== 0x20 && byte !== 0x09)
