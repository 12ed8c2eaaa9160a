import { COUPON_COLUMNS, readTable, type TableLayout } from '@waymark/domain/table'

/** The API reads all; this much shows how. */
const PREVIEWED_LENGTH = 16 * 1024

/** The first codes of a text and how its columns are read, or why they cannot be. */
export const readCodes = (text: string): { layout: TableLayout; codes: string[] } | { problem: string } => {
  const read = readTable(text.slice(0, PREVIEWED_LENGTH), COUPON_COLUMNS)
  if ('problem' in read) return read
  return { layout: read.layout, codes: read.rows.slice(0, 3).flatMap(({ values }) => values.code ?? []) }
}
