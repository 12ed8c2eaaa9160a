import type { TableLayout } from '@waymark/domain/table'

const DELIMITERS: Readonly<Record<string, string>> = {
  ',': 'commas',
  ';': 'semicolons',
  '\t': 'tabs',
  '|': 'bars',
}

/** Says what each column of a table is taken for. */
export const ColumnsRead = ({
  layout: { delimiter, hasHeader, headers, columns },
}: {
  layout: TableLayout
}) => {
  const separation =
    columns.length > 1 ? `Columns are separated by ${DELIMITERS[delimiter] ?? `“${delimiter}”`}. ` : ''
  const read = hasHeader
    ? headers.map((name, index) => `“${name}” is ${columns[index] ? `the ${columns[index]}` : 'not used'}`)
    : columns.map((column, index) => `column ${index + 1} is the ${column}`)
  const lead = hasHeader ? 'In the header, ' : 'There is no header: '
  return (
    <p className="text-muted">
      {separation}
      {lead}
      {read.join(', ')}.
    </p>
  )
}
