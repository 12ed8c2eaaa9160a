import { createReadStream, existsSync } from 'node:fs'
import { readFile, stat } from 'node:fs/promises'
import { join, resolve } from 'node:path'
import { addAbortSignal, type Readable } from 'node:stream'
import { type Options, parseCommand, USAGE } from './options.ts'
import { createProgress, formatNumber } from './progress.ts'
import { type Report, replay } from './replay.ts'
import type { Target } from './sender.ts'

// npm runs scripts in the root of the repository, but paths are relative to the user's directory.
const folders = [process.env.INIT_CWD, process.cwd()].filter((folder) => folder !== undefined)

const findFile = (path: string, inside = ''): string => {
  const places = folders.map((folder) => join(resolve(folder, path), inside))
  return places.find((place) => existsSync(place)) ?? places[0] ?? path
}

const readDemo = async (): Promise<Partial<Target>> => {
  const path = findFile(process.env.WAYMARK_DATA_DIR || '.waymark', 'demo.json')
  const demo: unknown = JSON.parse(await readFile(path, 'utf8'))
  if (typeof demo !== 'object' || demo === null) return {}
  return {
    ...('baseUrl' in demo && typeof demo.baseUrl === 'string' && { url: demo.baseUrl }),
    ...('apiKey' in demo && typeof demo.apiKey === 'string' && { key: demo.apiKey }),
  }
}

const targetReader = (options: Options): (() => Promise<Target>) => {
  let last: Target | undefined
  return async () => {
    // While a server starts, the file may be missing or incomplete: the last target is used.
    const demo = options.url && options.key ? {} : await readDemo().catch(() => ({}) as Partial<Target>)
    const url = options.url ?? demo.url ?? last?.url
    const key = options.key ?? demo.key ?? last?.key
    if (!url || !key) {
      const place = findFile(process.env.WAYMARK_DATA_DIR || '.waymark', 'demo.json')
      throw new Error(`no address and key in ${place}: start Waymark (npm start), or give --url and --key`)
    }
    last = { url, key }
    return last
  }
}

const openSource = async (file: string): Promise<{ stream: Readable; size: number | undefined }> => {
  if (file === '-') return { stream: process.stdin, size: undefined }
  const path = findFile(file)
  const info = await stat(path)
  if (info.isDirectory()) throw new Error(`${path} is a folder`)
  // Small reads, so that the progress bar is updated often.
  return {
    stream: createReadStream(path, { highWaterMark: 16 * 1024 }),
    size: info.isFile() ? info.size : undefined,
  }
}

const messageOf = (error: unknown): string => (error instanceof Error ? error.message : String(error))

const summarise = (report: Report, seconds: number): string => {
  const rows: [string, string][] = [
    ['lines', formatNumber(report.lines)],
    ['sent', formatNumber(report.sent)],
    ['accepted', formatNumber(report.accepted)],
    ['failed', formatNumber(report.failed)],
    ['skipped', formatNumber(report.skipped)],
    ['seconds', seconds.toFixed(2)],
    ['events/s', formatNumber(report.sent / Math.max(seconds, 0.001))],
  ]
  // Also on standard output, which may be kept without the errors.
  const ending = report.error ? `incomplete: ${messageOf(report.error)}\n` : ''
  return rows.map(([name, value]) => `${name.padEnd(9)}${value.padStart(12)}\n`).join('') + ending
}

const explain = (report: Report): string => {
  const { failures, skipped, skippedLines } = report
  const more = skipped > skippedLines.length ? ', …' : ''
  return [
    ...failures.map(({ line, reason }) => `failed: line ${line}: ${reason}\n`),
    skipped > 0 ? `skipped: not a log line: ${skippedLines.join(', ')}${more}\n` : '',
  ].join('')
}

/** Stops gracefully on the first signal and at once on a later one. */
const abortOnSignals = (interrupt: AbortController): void => {
  const onSignal = (signal: NodeJS.Signals, exitCode: number) => {
    let first: number | undefined
    process.on(signal, () => {
      first ??= performance.now()
      // npm forwards signals that the terminal has already sent, so the first one arrives twice.
      if (performance.now() - first > 1000) process.exit(exitCode)
      process.exitCode = exitCode
      interrupt.abort(new Error(`interrupted by ${signal}`))
    })
  }
  onSignal('SIGINT', 130)
  onSignal('SIGTERM', 143)
  // A process that ends by itself removes its handlers before it is gone, and a late signal would replace its exit code.
  process.once('beforeExit', () => process.exit())
}

const run = async (options: Options): Promise<void> => {
  const interrupt = new AbortController()
  abortOnSignals(interrupt)
  const target = targetReader(options)
  await target()
  const { stream, size } = await openSource(options.file)
  const started = performance.now()
  const progress = createProgress(process.stderr, size)
  const report = await replay({
    ...options,
    source: addAbortSignal(interrupt.signal, stream),
    target,
    signal: interrupt.signal,
    onChange: progress.update,
  })
  progress.stop()
  stream.destroy()
  process.stderr.write(explain(report))
  process.stdout.write(summarise(report, (performance.now() - started) / 1000))
  if (interrupt.signal.aborted) {
    process.stderr.write('interrupted; run it again to send the rest, no event is stored twice\n')
  } else if (report.error) {
    throw report.error
  } else if (report.lines > 0 && report.skipped === report.lines) {
    throw new Error('no line is in the common or combined log format')
  } else if (report.failed > 0) {
    process.exitCode = 1
  }
}

const command = parseCommand(process.argv.slice(2))
if (command.kind === 'help') {
  process.stdout.write(USAGE)
} else if (command.kind === 'usage') {
  process.stderr.write(`replay: ${command.error}\n\n${USAGE}`)
  process.exitCode = 2
} else {
  try {
    await run(command.options)
  } catch (error) {
    process.stderr.write(`replay: ${messageOf(error)}\n`)
    process.exitCode = 1
  }
}
