import { useMemo } from 'react'
import { wholeList } from '../api/pages.ts'
import { Card } from '../ui/card.tsx'
import { formatNumber } from '../ui/format.tsx'
import { DataTable, NarrowLine, wrappedClass } from '../ui/table.tsx'
import { layoutPaths } from './path-layout.ts'
import { type Point, useShowPeople } from './people-sheet.tsx'
import type { QueryResult } from './run-query.ts'
import { ShowPeople } from './show-people.tsx'

type Props = { result: QueryResult<'paths'> }

/** The people of a step: those who viewed the page or had the event. */
const pointOf = (name: string, range: { from: string; to: string }): Point => ({
  title: `${name} in this time`,
  ...range,
  ...(name.startsWith('/')
    ? { eventName: 'page_view', filters: [{ property: 'context.path', op: 'eq', value: name }] }
    : { eventName: name }),
})

/** The paths as a flow chart, hidden from screen readers, which read the table. */
export const PathsChart = ({ result: { data, range } }: Props) => {
  const show = useShowPeople()
  const { nodes, links, width, height } = useMemo(() => layoutPaths(data), [data])
  return (
    <section aria-label="Chart of the ways" tabIndex={0} className="overflow-x-auto rounded">
      <svg
        aria-hidden="true"
        viewBox={`0 0 ${width} ${height}`}
        className="h-auto min-w-(--width)"
        // Minimum width for readable labels.
        style={{ '--width': `${width * 0.75}px`, width: '100%' } as never}
      >
        {links.map(({ key, d, width: stroke, label }) => (
          <path
            key={key}
            d={d}
            strokeWidth={stroke}
            className="fill-none stroke-series-1/25 hover:stroke-series-1/50"
          >
            <title>{label}</title>
          </path>
        ))}
        {nodes.map((node) => (
          // biome-ignore lint/a11y/noStaticElementInteractions: the table has buttons for the same
          <g key={node.id} className="cursor-pointer" onClick={() => show(pointOf(node.name, range))}>
            <title>{node.name}</title>
            <rect
              x={node.x}
              y={node.y}
              width={node.width}
              height={node.height}
              rx={3}
              className="fill-series-1"
            />
            <text
              x={node.x + node.width + 7}
              y={node.y + node.height / 2}
              dominantBaseline="central"
              className="fill-text stroke-surface stroke-4 text-[13px] [paint-order:stroke]"
            >
              {shorten(node.name)} <tspan className="fill-muted">{formatNumber(node.people)}</tspan>
            </text>
          </g>
        ))}
      </svg>
    </section>
  )
}

const MAX_NAME = 24
const shorten = (name: string): string => (name.length > MAX_NAME ? `${name.slice(0, MAX_NAME - 1)}…` : name)

/** The paths with their number of people. */
export const PathsTable = ({ result: { data, range } }: Props) => {
  const show = useShowPeople()
  const rows = useMemo(() => {
    const byId = new Map(data.nodes.map((node) => [node.id, node]))
    return data.links.flatMap(({ source, target, people }) => {
      const [from, to] = [byId.get(source), byId.get(target)]
      return from && to ? [{ from, to, people }] : []
    })
  }, [data])
  return (
    <DataTable
      label="Ways"
      list={wholeList(rows)}
      keyOf={({ from, to }) => `${from.id} ${to.id}`}
      columns={[
        {
          title: 'Step',
          sort: ({ from }) => from.step,
          cell: ({ from }) => formatNumber(from.step + 1),
        },
        {
          title: 'From',
          sort: ({ from }) => from.name,
          cell: ({ from, to }) => (
            <span className={wrappedClass}>
              {from.name}
              <NarrowLine>to {to.name}</NarrowLine>
            </span>
          ),
        },
        { title: 'To', wide: true, sort: ({ to }) => to.name, cell: ({ to }) => to.name },
        {
          title: 'People',
          align: 'right',
          sort: ({ people }) => people,
          cell: ({ to, people }) => (
            <ShowPeople text={formatNumber(people)} onClick={() => show(pointOf(to.name, range))} />
          ),
        },
      ]}
      empty={null}
    />
  )
}

/** Chart and table of a paths query. */
export const PathsResult = ({ result }: Props) => (
  <>
    <Card title="Ways within a session" padded>
      <PathsChart result={result} />
    </Card>
    <Card title="Ways" description="How many people went from one step to the next.">
      <PathsTable result={result} />
    </Card>
  </>
)
