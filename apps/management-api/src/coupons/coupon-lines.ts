import { Readable } from 'node:stream'
import { AppError } from '@waymark/contracts/app-error'
import {
  CSV_OPTIONS,
  encodingOf,
  layoutOf,
  SAMPLE_LENGTH,
  type TableColumns,
  type TableLayout,
  type TextEncoding,
} from '@waymark/domain/table'
import { LoopTurns } from '@waymark/service-kit'
import { type CsvError, parse } from 'csv-parse'
import { unprocessable } from '../http/validation.ts'

/** Bytes of the sample: a character has at most four. */
const SAMPLE_BYTES = 4 * SAMPLE_LENGTH + 1
/** Bytes of CSV that are parsed at once: up to two thousand lines, which take about ten milliseconds. */
const PIECE_BYTES = 4 * 1024

type Parsed = { record: string[]; info: { lines: number } }
type Refuse = (line: number, text: string, reason: string) => void

/**
 * The codes of a CSV, and their balances if `columns` has them, line by line, in any encoding and with any delimiter of spreadsheets. `refuse` gets lines that are
 * not CSV.
 * @throws AppError unprocessable when it is not clear which column has the codes
 */
export async function* linesOf(
  csv: Readable,
  columns: TableColumns,
  refuse: Refuse,
): AsyncGenerator<{ line: number; field: string | undefined; balance: string | undefined }> {
  const { start, rest } = await startOf(csv)
  const encoding = encodingOf(start)
  const layout = layoutOf(new TextDecoder(encoding).decode(start), columns)
  if ('problem' in layout) throw unprocessable('', 'columns', layout.problem)
  const pieces = Readable.from(piecesOf(withStart(start, rest), encoding))
  const parser = parserOf(layout, refuse)
  csv.once('error', (error) => parser.destroy(error))
  csv.once('close', () => {
    if (!csv.readableEnded) parser.destroy(endedEarly())
  })
  pieces.once('error', (error) => parser.destroy(error))
  pieces.pipe(parser)

  const column = layout.columns.indexOf(columns.key)
  const balance = layout.columns.indexOf('balance')
  let isHeader = layout.hasHeader
  for await (const { record, info } of parser as AsyncIterable<Parsed>) {
    if (!isHeader) yield { line: info.lines, field: record[column], balance: record[balance] }
    isHeader = false
  }
}

const parserOf = ({ delimiter, skippedLines }: TableLayout, refuse: Refuse) => {
  const parser = parse({ ...CSV_OPTIONS, info: true, delimiter, from_line: skippedLines + 1 })
  let lastSkipped: number | undefined
  parser.on('skip', ({ lines }: CsvError) => {
    const line = Number(lines ?? 0)
    // Each part of a line above the limit is skipped separately.
    if (line !== lastSkipped) refuse(line, '', 'is not CSV')
    lastSkipped = line
  })
  return parser
}

const endedEarly = () => new AppError('bad_request', 'The request ended before its body did')

type Chunks = AsyncIterator<Buffer | string>

/** The beginning of a body, and what follows it. */
const startOf = async (csv: Readable): Promise<{ start: Buffer; rest: Chunks }> => {
  const rest: Chunks = csv[Symbol.asyncIterator]()
  const chunks: Buffer[] = []
  for (let length = 0; length < SAMPLE_BYTES; ) {
    const { done, value } = await rest.next().catch(() => {
      throw csv.errored ?? endedEarly()
    })
    if (done) break
    const chunk = bytesOf(value)
    chunks.push(chunk)
    length += chunk.length
  }
  return { start: Buffer.concat(chunks), rest }
}

const bytesOf = (chunk: Buffer | string): Buffer => (typeof chunk === 'string' ? Buffer.from(chunk) : chunk)

async function* withStart(start: Buffer, rest: Chunks): AsyncGenerator<Buffer> {
  yield start
  for (let next = await rest.next(); !next.done; next = await rest.next()) yield bytesOf(next.value)
}

/** A body as UTF-8 in pieces, between which other requests run. */
async function* piecesOf(csv: AsyncIterable<Buffer>, encoding: TextEncoding): AsyncGenerator<Buffer> {
  const turns = new LoopTurns()
  const decoder = encoding === 'utf-8' ? undefined : new TextDecoder(encoding)
  for await (const chunk of csv)
    for (let start = 0; start < chunk.length; start += PIECE_BYTES) {
      if (turns.isOver()) await turns.next()
      const piece = chunk.subarray(start, start + PIECE_BYTES)
      yield decoder ? Buffer.from(decoder.decode(piece, { stream: true })) : piece
    }
}
