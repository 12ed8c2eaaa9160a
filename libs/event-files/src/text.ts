import type { EventColumns } from './columns.ts'

/** A field of a CSV line, quoted as in RFC 4180 where necessary. */
export const csvField = (text: string): string =>
  /[",\r\n]/.test(text) ? `"${text.replaceAll('"', '""')}"` : text

// Some spreadsheets read full-width signs like the others.
const FORMULA = /^[=+\-@＝＋－＠\t\r\n]/

/** A CSV field that spreadsheets do not evaluate as a formula. */
const safeField = (value: unknown): string => {
  if (value === null || value === undefined) return ''
  const text = typeof value === 'string' ? value : JSON.stringify(value)
  return csvField(FORMULA.test(text) ? `'${text}` : text)
}

/** Text that begins with a byte order mark. */
export async function* withBom(parts: AsyncIterable<string>): AsyncGenerator<string> {
  yield '\uFEFF'
  yield* parts
}

/** CSV by RFC 4180 with a header. */
export async function* writeCsv<Row extends object>(
  columns: EventColumns<Row>,
  portions: AsyncIterable<readonly Row[]>,
): AsyncGenerator<string> {
  const names = Object.keys(columns) as (keyof Row)[]
  yield `${names.join(',')}\r\n`
  for await (const rows of portions)
    if (rows.length > 0)
      yield rows.map((row) => `${names.map((name) => safeField(row[name])).join(',')}\r\n`).join('')
}

/** One JSON object on each line. */
export async function* writeJsonLines(portions: AsyncIterable<readonly object[]>): AsyncGenerator<string> {
  for await (const rows of portions)
    if (rows.length > 0) yield rows.map((row) => `${JSON.stringify(row)}\n`).join('')
}
