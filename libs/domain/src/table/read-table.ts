import type { TableColumns } from './columns.ts'
import { layoutOf, rowsOf, type TableLayout, type TableProblem } from './layout.ts'

/** A row: the cells that are used, by the column that they are taken for. Empty ones are left out. */
export type TableRow = { line: number; values: Readonly<Record<string, string>> }

/** Reads a whole table. */
export const readTable = (
  text: string,
  columns: TableColumns,
): { layout: TableLayout; rows: TableRow[] } | TableProblem => {
  const layout = layoutOf(text, columns)
  if ('problem' in layout) return layout
  const body = layout.skippedLines === 0 ? text : text.slice(text.indexOf('\n') + 1)
  const rows = rowsOf(body, layout.delimiter).slice(layout.hasHeader ? 1 : 0)
  return {
    layout,
    rows: rows.map(({ line, cells }) => ({
      line: line + layout.skippedLines,
      values: Object.fromEntries(
        layout.columns.flatMap((column, index) => {
          const cell = cells[index]
          return column === undefined || !cell ? [] : [[column, cell]]
        }),
      ),
    })),
  }
}
