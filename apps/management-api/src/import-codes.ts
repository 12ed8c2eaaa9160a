import type { Readable } from 'node:stream'
import { AppError, MAX_POOL_SIZE, MAX_REPORTED_LINES } from '@waymark/contracts'
import type { Database } from '@waymark/database'
import { normalizeCode } from '@waymark/domain'
import { insertCoupons } from '@waymark/pipeline'
import { type CsvError, parse } from 'csv-parse'

/** A line that was not imported, and why. */
export type RefusedLine = { line: number; code: string; reason: string }
export type ImportResult = { imported: number; duplicates: number; invalid: number; errors: RefusedLine[] }

type Line = { line: number; text: string; code: string }
type Pool = { id: string; projectId: string }

const CHUNK = 5_000
const MAX_LINE_LENGTH = 64 * 1024
const SAMPLE_LENGTH = 80

// The pool's row is locked before its coupons are written, as by the generator.
const LOCK = `
  SELECT size FROM coupon.pools WHERE id = $1 AND status <> 'archived' FOR NO KEY UPDATE`
const GROW = `
  UPDATE coupon.pools SET size = size + $2, generated = generated + $2, updated_at = now() WHERE id = $1`
const READY = `
  UPDATE coupon.pools SET status = 'ready', updated_at = now()
  WHERE id = $1 AND status IN ('draft', 'failed') AND generated > 0 AND generated = size`

/**
 * Imports codes from CSV as it arrives, some thousands in a transaction, never holding more than those in memory. When
 * the stream breaks off, what was read before stays imported and the pool a draft.
 * @throws AppError unprocessable when the pool was archived meanwhile or would become too large
 */
export const importCodes = async (
  db: Pick<Database, 'transaction' | 'pool'>,
  pool: Pool,
  csv: Readable,
): Promise<ImportResult> => {
  const result: ImportResult = { imported: 0, duplicates: 0, invalid: 0, errors: [] }
  const refuse = (line: number, text: string, reason: string): void => {
    const code = text.slice(0, SAMPLE_LENGTH).toWellFormed()
    if (result.errors.length < MAX_REPORTED_LINES) result.errors.push({ line, code, reason })
  }
  const refuseInvalid = (line: number, text: string, reason: string): void => {
    result.invalid++
    refuse(line, text, reason)
  }

  const store = async (lines: readonly Line[]): Promise<void> => {
    const byCode = new Map<string, Line>()
    const repeated = lines.filter((line) => byCode.has(line.code) || !byCode.set(line.code, line))
    const inserted = new Set(await insertChunk(db, pool, [...byCode.values()]))
    const known = [...byCode.values()].filter(({ code }) => !inserted.has(code))
    result.imported += inserted.size
    result.duplicates += repeated.length + known.length
    for (const { line, text } of [...repeated, ...known]) refuse(line, text, 'is a duplicate')
  }

  let chunk: Line[] = []
  for await (const { line, field } of linesOf(csv, refuseInvalid)) {
    const text = field ?? ''
    const code = normalizeCode(text)
    if (code === undefined)
      refuseInvalid(line, text, 'is not 3 to 64 letters A to Z, digits, _ and ., and dashes')
    else chunk.push({ line, text: text.trim().toUpperCase(), code })
    if (chunk.length === CHUNK) {
      await store(chunk)
      chunk = []
    }
  }
  await store(chunk)
  await db.pool.query(READY, [pool.id])
  result.errors.sort((a, b) => a.line - b.line)
  return result
}

const insertChunk = (
  db: Pick<Database, 'transaction'>,
  pool: Pool,
  lines: readonly Line[],
): Promise<string[]> =>
  db.transaction(async (client) => {
    if (lines.length === 0) return []
    const { rows } = await client.query<{ size: number }>(LOCK, [pool.id])
    const [locked] = rows
    if (!locked) throw new AppError('unprocessable', 'The pool was archived meanwhile')
    if (locked.size + lines.length > MAX_POOL_SIZE)
      throw new AppError('unprocessable', `A pool holds at most ${MAX_POOL_SIZE} codes`)
    const codes = lines.map(({ code, text }) => ({ code, display: text }))
    const inserted = await insertCoupons(client, pool, codes)
    await client.query(GROW, [pool.id, inserted.length])
    return inserted
  })

type Parsed = { record: string[]; info: { lines: number } }

/** The codes of a CSV, line by line: of its column `code`, else of its first column. */
async function* linesOf(
  csv: Readable,
  refuse: (line: number, text: string, reason: string) => void,
): AsyncGenerator<{ line: number; field: string | undefined }> {
  const parser = parse({
    bom: true,
    info: true,
    relax_column_count: true,
    // Otherwise it tells of every quote in a line by an error that quotes all of the line before it. No code has any.
    relax_quotes: true,
    skip_empty_lines: true,
    skip_records_with_error: true,
    max_record_size: MAX_LINE_LENGTH,
  })
  parser.on('skip', (error: CsvError) => refuse(Number(error.lines ?? 0), '', 'is not CSV'))
  csv.once('error', (error) => parser.destroy(error))
  csv.once('close', () => {
    if (!csv.readableEnded)
      parser.destroy(new AppError('bad_request', 'The request ended before its body did'))
  })
  csv.pipe(parser)

  let column: number | undefined
  for await (const { record, info } of parser as AsyncIterable<Parsed>) {
    if (column === undefined) {
      const named = record.findIndex((name) => name.trim().toLowerCase() === 'code')
      column = Math.max(named, 0)
      if (named !== -1) continue
    }
    yield { line: info.lines, field: record[column] }
  }
}
