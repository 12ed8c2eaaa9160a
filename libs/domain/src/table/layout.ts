import { parse } from 'csv-parse/sync'
import { columnNamed, foldName, type TableColumns } from './columns.ts'

/** How a table is read. */
export type TableLayout = {
  delimiter: string
  /** Lines before the first row. */
  skippedLines: number
  hasHeader: boolean
  /** What each column is taken for; undefined for one that is not used. */
  columns: readonly (string | undefined)[]
  /** The names in the header; empty without one. */
  headers: readonly string[]
}
/** Why a table is not read, as the predicate of "the CSV". */
export type TableProblem = { problem: string }

/** A row and the number of its last line. */
export type Row = { line: number; cells: string[] }

/** Characters of the beginning of a table that its layout is read from, at most. */
export const SAMPLE_LENGTH = 16 * 1024
/** Characters of a row, at most. */
const MAX_ROW_LENGTH = 64 * 1024

/** Options of the parser: what it makes of tables that are not quite CSV. */
export const CSV_OPTIONS = {
  bom: true,
  relax_column_count: true,
  // Otherwise each quote in a line gives an error with all of the line before it.
  relax_quotes: true,
  skip_empty_lines: true,
  skip_records_with_error: true,
  max_record_size: MAX_ROW_LENGTH,
} as const

/** No name of a column is longer. */
const MAX_NAME_LENGTH = 40

const DELIMITERS = [',', ';', '\t', '|']
const NAMES: Readonly<Record<string, string>> = {
  ',': 'commas',
  ';': 'semicolons',
  '\t': 'tabs',
  '|': 'bars',
}
/** Separates nothing: a character that ASCII has for it, and text does not. */
const NO_DELIMITER = '\u001f'
/** The line by which spreadsheets are told the delimiter. */
const SEPARATOR_LINE = /^\uFEFF?"?sep=(.)"?\r?\n/i

/** The rows of a text. */
export const rowsOf = (text: string, delimiter: string): Row[] => {
  const rows: Row[] = []
  parse(text, {
    ...CSV_OPTIONS,
    delimiter,
    on_record: (cells: string[], { lines }) => {
      rows.push({ line: lines, cells: cells.map((cell) => cell.trim()) })
      return null
    },
  })
  return rows
}

type Candidate = { delimiter: string; rows: readonly string[][] }

/**
 * Reads from the beginning of a table which character separates its columns, and what each column is. The delimiter is
 * the one that gives a header of known names, else the one that gives most rows several columns.
 */
export const layoutOf = (text: string, columns: TableColumns): TableLayout | TableProblem => {
  const [separatorLine = '', separator] = SEPARATOR_LINE.exec(text) ?? []
  const sample = wholeLines(text.slice(separatorLine.length))
  const candidates = (separator === undefined ? DELIMITERS : [separator]).map((delimiter) => ({
    delimiter,
    rows: rowsOf(sample, delimiter).map(({ cells }) => cells),
  }))
  const found = byHeader(candidates, columns) ?? byRows(candidates, columns)
  return 'problem' in found ? found : { ...found, skippedLines: separatorLine === '' ? 0 : 1 }
}

/** The lines of the beginning of a text, without one that may be cut off. */
const wholeLines = (text: string): string => {
  if (text.length <= SAMPLE_LENGTH) return text
  const sample = text.slice(0, SAMPLE_LENGTH)
  const end = Math.max(sample.lastIndexOf('\n'), sample.lastIndexOf('\r'))
  return end === -1 ? sample : sample.slice(0, end + 1)
}

type Found = Omit<TableLayout, 'skippedLines'> | TableProblem

/** Undefined when no delimiter gives a header. */
const byHeader = (candidates: readonly Candidate[], columns: TableColumns): Found | undefined => {
  const named = candidates.map(({ delimiter, rows: [headers = []] }) => ({
    delimiter,
    headers,
    columns: headers.map((header) => columnNamed(header, columns)),
  }))
  const knownIn = (names: readonly (string | undefined)[]) =>
    new Set(names.filter((name) => name !== undefined)).size
  // Of equal ones that with more columns, so that a delimiter at the end of each line is one.
  const [best] = named.toSorted(
    (a, b) => knownIn(b.columns) - knownIn(a.columns) || b.columns.length - a.columns.length,
  )
  if (!best || knownIn(best.columns) === 0) return undefined
  if (!best.columns.includes(columns.key)) {
    if (columns.fits?.(best.headers)) return undefined
    const others = best.headers.map((header) => `"${header}"`).join(', ')
    return { problem: `has no column ${namesOf(columns)}; its header has ${others}` }
  }
  const used = best.columns.map((name, index) =>
    name !== undefined && indexOf(name, best) === index ? name : undefined,
  )
  const twice = best.columns.find((name) => name !== undefined && !used.includes(name))
  if (twice !== undefined) {
    const same = best.headers.filter((_, index) => best.columns[index] === twice)
    return { problem: `has several columns for "${twice}": ${same.join(', ')}. Name one of them "${twice}"` }
  }
  return { ...best, columns: used, hasHeader: true }
}

/** The one column that has a name: of several, the one with exactly this name. */
const indexOf = (
  name: string,
  { headers, columns: named }: Pick<TableLayout, 'headers' | 'columns'>,
): number | undefined => {
  const indexes = named.flatMap((other, index) => (other === name ? [index] : []))
  if (indexes.length === 1) return indexes[0]
  const exact = indexes.filter((index) => foldName(headers[index] ?? '') === foldName(name))
  return exact.length === 1 ? exact[0] : undefined
}

const namesOf = ({ key, names }: TableColumns): string =>
  `for "${key}" (${names[key]?.slice(0, 4).join(', ') ?? key}, …)`

/** The layout of a table without a header. */
const byRows = (candidates: readonly Candidate[], columns: TableColumns): Found =>
  columns.fits ? inOrder(candidates, columns.fits, columns) : oneColumn(candidates, columns)

const oneColumn = (candidates: readonly Candidate[], columns: TableColumns): Found => {
  const several = candidates.find(
    ({ rows }) => rows.filter((cells) => filled(cells).length > 1).length * 2 > rows.length,
  )
  if (several) {
    const width = Math.max(...several.rows.map((cells) => cells.length))
    const by = NAMES[several.delimiter] ?? `"${several.delimiter}"`
    return {
      problem: `has ${width} columns, separated by ${by}, and its first line names none of them: add a header that names one ${namesOf(columns)}`,
    }
  }
  const misread = headerInLines(candidates[0]?.rows ?? [], columns)
  if (misread) return misread
  // Lines that all end with a delimiter have one column.
  const ended = candidates.find(({ rows }) => rows.length > 0 && rows.every((cells) => cells.length > 1))
  const delimiter = ended?.delimiter ?? NO_DELIMITER
  return { delimiter, hasHeader: false, headers: [], columns: [columns.key] }
}

/**
 * Refuses lines of one column in which a header would become a value: below other lines, with spaces between names, or as a
 * first line that is not like the others.
 */
const headerInLines = (rows: readonly string[][], columns: TableColumns): TableProblem | undefined => {
  const lines = rows.map((cells) => cells.join(' ').trim())
  const names = new Set(columns.names[columns.key]?.map(foldName))
  const isName = (text: string): boolean => text.length <= MAX_NAME_LENGTH && names.has(foldName(text))
  const below = lines.find(isName)
  if (below !== undefined)
    return {
      problem: `has the header "${below}" below other lines: remove them, or add the header "${columns.key}" above all`,
    }
  const words = lines.map((line) => line.split(/\s+/))
  if (words[0]?.some(isName) && words.every(({ length }) => length > 1))
    return {
      problem: `has columns that are separated by spaces, as it seems: separate them by commas, or add the header "${columns.key}" above all`,
    }
  const [first = '', ...others] = lines
  const named = (words[0]?.length ?? 0) > 1 && words[0]?.some(isName)
  if (others.length > 0 && (named || (TITLE.test(first) && others.every(isSerial))))
    return {
      problem: `has a first line "${first.slice(0, MAX_NAME_LENGTH)}" that may be a header: replace it by "${columns.key}", or add the header "${columns.key}" above all`,
    }
  return undefined
}

/** Words of a header, in which not all letters are capitals. */
const TITLE = /^(?=.*\p{Ll})[\p{L}\s_-]+$/u
/** Whether text has digits and no small letters, as most codes. */
const isSerial = (text: string): boolean => /\d/.test(text) && !/\p{Ll}/u.test(text)

const filled = (cells: readonly string[]): string[] => cells.filter((cell) => cell !== '')

const inOrder = (
  candidates: readonly Candidate[],
  fits: (cells: readonly string[]) => boolean,
  { names }: TableColumns,
): Found => {
  const scored = candidates
    .map(({ delimiter, rows }) => ({
      delimiter,
      fitting: rows.filter((cells) => cells.length > 1 && fits(cells)).length,
    }))
    .sort((a, b) => b.fitting - a.fitting)
  const [best, second] = scored
  if (best && second && best.fitting > 0 && best.fitting === second.fitting)
    return {
      problem: `can be separated by ${NAMES[best.delimiter]} or by ${NAMES[second.delimiter]}: add a header such as ${Object.keys(names).join(',')}`,
    }
  const delimiter = best && best.fitting > 0 ? best.delimiter : ','
  return { delimiter, hasHeader: false, headers: [], columns: Object.keys(names) }
}
