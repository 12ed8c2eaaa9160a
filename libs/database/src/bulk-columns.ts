/** A column of a bulk write: its name, its SQL type and its value for a row. */
export type BulkColumn<Row> = {
  name: string
  type: string
  of: (row: Row) => string | number | boolean | null
}

/**
 * Parts of a statement that passes many rows as one array per column, which is several times faster than one parameter
 * per value: `INSERT INTO t (${names}) SELECT * FROM ${unnest}` with `values(rows)`.
 */
export const bulkColumns = <Row>(columns: readonly BulkColumn<Row>[]) => ({
  names: columns.map(({ name }) => `"${name}"`).join(', '),
  unnest: `unnest(${columns.map(({ type }, index) => `$${index + 1}::${type}[]`).join(', ')})`,
  values: (rows: readonly Row[]) => columns.map(({ of }) => rows.map(of)),
})
