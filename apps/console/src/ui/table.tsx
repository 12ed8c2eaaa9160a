import { createContext, type ReactNode, useContext, useEffect, useMemo } from 'react'
import type { List } from '../api/pages.ts'
import { useUrlState } from '../api/url-state.ts'
import { Button } from './button.tsx'
import { formatNumber } from './format.tsx'
import { Icon } from './icon.tsx'
import { ErrorState, SkeletonLines } from './states.tsx'

export type Column<T> = {
  /** Its heading, which must be unique in the table. */
  title: string
  cell: (row: T) => ReactNode
  /** The value to sort by. Without it the column cannot be sorted. */
  sort?: (row: T) => string | number | null
  align?: 'right'
  /** Hidden where the table is narrow, on phones and in small cards. */
  wide?: boolean
}

type Props<T> = {
  label: string
  columns: readonly Column<T>[]
  list: List<T>
  keyOf: (row: T) => string
  empty: ReactNode
  onOpen?: (row: T) => void
}

/** The class of the link or button that opens a row. */
export const rowLinkClass = 'rounded font-medium hover:underline'

/** The class of text that is cut off where it would take the place of the other columns. */
export const truncatedClass = 'block max-w-[45vw] truncate sm:max-w-96'

/** A name of any length in a cell, cut off at a part of the width of its table. */
export const TruncatedName = ({ children }: { children: string }) => (
  <span title={children} className="block max-w-[45cqw] truncate @2xl:max-w-[30cqw]">
    {children}
  </span>
)

/** Text or actions below the first line of a cell, for a column that is hidden where the table is narrow. */
export const NarrowLine = ({ children }: { children: ReactNode }) => (
  <span className="block w-full text-muted @2xl:hidden">{children}</span>
)

/** The class of long text without spaces in a cell, such as an email address, which wraps where the table is narrow. */
export const wrappedClass = 'block min-w-20 wrap-anywhere'

/** Sorting loads this many rows first. */
const SORTED_ROWS = 500

type Order = { title: string; down: boolean }

/** Distinguishes tables of the same label on a page, each of which has its own order. */
export const TableScope = createContext('')

/** The order of a table as a parameter of the URL: the heading of the column, after `-` when it is descending. */
const useUrlOrder = (label: string): [Order | undefined, (order: Order) => void] => {
  const scope = useContext(TableScope)
  const name = `sort-${`${label} ${scope}`.trim().toLowerCase().replaceAll(/\W+/g, '-')}`
  const [{ [name]: text = '' }, set] = useUrlState<string>()
  const down = text.startsWith('-')
  const title = down ? text.slice(1) : text
  const order = useMemo(() => (title === '' ? undefined : { title, down }), [title, down])
  return [order, (next) => set({ [name]: `${next.down ? '-' : ''}${next.title}` })]
}

/** A list as a table with sortable columns and a button that loads more. */
export const DataTable = <T,>({ label, columns, list, keyOf, empty, onOpen }: Props<T>) => {
  const [order, setOrder] = useUrlOrder(label)
  const rows = useMemo(() => {
    const by = columns.find(({ title }) => title === order?.title)?.sort
    if (!by || !order) return list.rows
    const sorted = list.rows.toSorted((a, b) => compare(by(a), by(b)))
    return order.down ? sorted.reverse() : sorted
  }, [list.rows, columns, order])

  const { hasNextPage, isFetchingNextPage, error, fetchNextPage } = list
  const loadsMore = order !== undefined && hasNextPage && !error && list.rows.length < SORTED_ROWS
  useEffect(() => {
    if (loadsMore && !isFetchingNextPage) fetchNextPage()
  })

  if (list.isPending) return <SkeletonLines />
  if (list.error && list.rows.length === 0) return <ErrorState error={list.error} retry={list.refetch} />
  if (list.rows.length === 0) return empty
  const cellClass = ({ align, wide }: Column<T>) =>
    `px-2.5 py-2.5 first:pl-4 last:pr-4 @4xl:px-4 ${align === 'right' ? 'text-right tabular-nums' : 'text-left'} ${wide ? 'hidden @2xl:table-cell' : ''}`
  return (
    <>
      <section className="@container overflow-x-auto" tabIndex={0} aria-label={label}>
        <table className="w-full border-collapse">
          <caption className="sr-only">{label}</caption>
          <thead className="border-b border-line text-muted">
            <tr>
              {columns.map((column) => (
                <th
                  key={column.title}
                  scope="col"
                  aria-sort={
                    order?.title === column.title ? (order.down ? 'descending' : 'ascending') : undefined
                  }
                  className={`${cellClass(column)} align-bottom font-medium @2xl:whitespace-nowrap`}
                >
                  {column.sort ? (
                    <button
                      type="button"
                      className="inline-flex items-center gap-1 rounded hover:text-text"
                      onClick={() =>
                        setOrder({
                          title: column.title,
                          down: order?.title === column.title ? !order.down : column.align === 'right',
                        })
                      }
                    >
                      {column.title}
                      <Icon
                        name={order?.title !== column.title ? 'sort' : order.down ? 'chevron' : 'up'}
                        className="size-3.5"
                      />
                    </button>
                  ) : (
                    column.title
                  )}
                </th>
              ))}
            </tr>
          </thead>
          <tbody className="divide-y divide-line">
            {rows.map((row) => (
              <tr
                key={keyOf(row)}
                className={onOpen ? 'cursor-pointer hover:bg-subtle/60' : ''}
                // The row's link or button does the same for keyboards.
                onClick={(event) => {
                  if (onOpen && !(event.target as Element).closest('a,button,input')) onOpen(row)
                }}
              >
                {columns.map((column) => (
                  <td key={column.title} className={`${cellClass(column)} align-middle`}>
                    {column.cell(row)}
                  </td>
                ))}
              </tr>
            ))}
          </tbody>
        </table>
      </section>
      {hasNextPage && (
        <div className="flex flex-wrap items-center justify-center gap-x-4 gap-y-2 border-t border-line p-3">
          {order && (
            <p role="status" className="text-muted">
              {loadsMore
                ? 'Loading the rows to sort.'
                : `Only the first ${formatNumber(rows.length)} rows are sorted. Load more, or narrow the list by its filters.`}
            </p>
          )}
          <Button busy={isFetchingNextPage} onClick={fetchNextPage}>
            Load more
          </Button>
        </div>
      )}
    </>
  )
}

const compare = (a: string | number | null, b: string | number | null): number => {
  if (a === b) return 0
  if (a === null) return -1
  if (b === null) return 1
  return typeof a === 'number' && typeof b === 'number' ? a - b : `${a}`.localeCompare(`${b}`)
}
