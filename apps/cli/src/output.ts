/** How results are printed. */
export type Format = 'text' | 'json' | 'csv'
/** A row of a table: its cells by the name of the column. */
export type Row = Record<string, unknown>

/** Where text is written, such as `process.stdout`. */
export type Sink = { write(text: string): unknown }

/** Prints results as a table for people, or as JSON or CSV for programs. */
export class Output {
  readonly format: Format
  private readonly out: Sink
  private readonly err: Sink

  constructor(format: Format, out: Sink, err: Sink) {
    this.format = format
    this.out = out
    this.err = err
  }

  /** Prints a result: `value` as JSON, else the rows as a table or CSV. */
  table(value: unknown, rows: readonly Row[], columns: readonly string[]): void {
    if (this.format === 'json') this.json(value)
    else this.out.write(this.format === 'csv' ? toCsv(rows, columns) : toTable(rows, columns))
  }

  /** Prints a result: `value` as JSON, else the text. */
  result(value: unknown, text: string): void {
    if (this.format === 'json') this.json(value)
    else this.out.write(`${text}\n`)
  }

  /** Prints a record of a stream: one line of JSON, or text. */
  line(value: unknown, text: string): void {
    this.out.write(`${this.format === 'json' ? JSON.stringify(value) : text}\n`)
  }

  /** Prints a message for people, which is no part of the result. */
  note(text: string): void {
    this.err.write(`${text}\n`)
  }

  private json(value: unknown): void {
    this.out.write(`${JSON.stringify(value, null, 2)}\n`)
  }
}

const textOf = (value: unknown): string => {
  if (value === null || value === undefined) return ''
  return typeof value === 'object' ? JSON.stringify(value) : String(value)
}

// Text of others must not move the cursor of a terminal or color it.
// biome-ignore lint/suspicious/noControlCharactersInRegex: they are what is replaced
const printable = (text: string): string => text.replaceAll(/[\u0000-\u001f\u007f-\u009f]/g, ' ')

/** Rows as columns of equal width, with numbers on the right. */
export const toTable = (rows: readonly Row[], columns: readonly string[]): string => {
  if (rows.length === 0) return 'Nothing found.\n'
  const cells = rows.map((row) => columns.map((column) => printable(textOf(row[column]))))
  const isNumeric = columns.map((column) => rows.every((row) => typeof row[column] === 'number'))
  const widths = columns.map((column, index) =>
    Math.max(column.length, ...cells.map((row) => row[index]?.length ?? 0)),
  )
  const pad = (text: string, index: number) =>
    isNumeric[index] ? text.padStart(widths[index] ?? 0) : text.padEnd(widths[index] ?? 0)
  return [columns, ...cells].map((row) => `${row.map(pad).join('  ').trimEnd()}\n`).join('')
}

/** Rows as CSV with a header (RFC 4180). A text that a spreadsheet would run as a formula begins with `'`. */
export const toCsv = (rows: readonly Row[], columns: readonly string[]): string => {
  const quote = (text: string) => (/[",\r\n]/.test(text) ? `"${text.replaceAll('"', '""')}"` : text)
  const cell = (value: unknown) => {
    const text = textOf(value)
    return quote(typeof value === 'string' && /^[=+\-@\t\r]/.test(text) ? `'${text}` : text)
  }
  const lines = rows.map((row) => columns.map((column) => cell(row[column])).join(','))
  return [columns.map(quote).join(','), ...lines].map((line) => `${line}\r\n`).join('')
}
