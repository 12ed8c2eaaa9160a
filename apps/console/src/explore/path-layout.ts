import { sankey, sankeyLinkHorizontal } from 'd3-sankey'
import type { Results } from './query-types.ts'

type Paths = Results['paths']
type Node = Paths['nodes'][number]

type PathNode = Node & { people: number; x: number; y: number; width: number; height: number }
type PathLink = { key: string; d: string; width: number; label: string; step: number }

/** Units of the drawing for one step. */
const STEP_WIDTH = 220
const NODE_WIDTH = 12

/** The positions of steps and links, in units of a box of `width` and `height`. */
export const layoutPaths = ({
  nodes,
  links,
}: Paths): { nodes: PathNode[]; links: PathLink[]; width: number; height: number } => {
  const steps = Math.max(1, ...nodes.map(({ step }) => step)) + 1
  const widest = Math.max(
    1,
    ...Array.from({ length: steps }, (_, at) => nodes.filter(({ step }) => step === at).length),
  )
  // d3-sankey has only as many columns as its longest chain. This hidden chain is as long as the paths.
  const chain = Array.from({ length: steps }, (_, step) => ({ id: `chain ${step}`, step, name: '' }))
  // The last column has labels next to it.
  const width = steps * STEP_WIDTH
  const height = Math.max(220, widest * 44)
  const drawn = sankey<Node, { people: number }>()
    .nodeId(({ id }) => id)
    .nodeAlign(({ step }) => step)
    .nodeWidth(NODE_WIDTH)
    .nodePadding(22)
    .extent([
      [1, 12],
      [width - STEP_WIDTH + NODE_WIDTH, height - 12],
    ])({
    nodes: [...nodes.map((node) => ({ ...node })), ...chain],
    links: [
      ...links.map(({ source, target, people }) => ({ source, target, people, value: people })),
      ...chain
        .slice(1)
        .map(({ id, step }) => ({ source: `chain ${step - 1}`, target: id, people: 0, value: 0 })),
    ],
  })
  const line = sankeyLinkHorizontal()
  return {
    width,
    height,
    nodes: drawn.nodes
      .slice(0, nodes.length)
      .map(({ id, step, name, value = 0, x0 = 0, x1 = 0, y0 = 0, y1 = 0 }) => ({
        id,
        step,
        name,
        people: value,
        x: x0,
        y: y0,
        width: x1 - x0,
        height: Math.max(2, y1 - y0),
      })),
    links: drawn.links.slice(0, links.length).map((link) => {
      const [from, to] = [link.source as Node, link.target as Node]
      return {
        key: `${from.id} ${to.id}`,
        d: line(link) ?? '',
        width: Math.max(1, link.width ?? 1),
        label: `${from.name} → ${to.name}`,
        step: from.step,
      }
    }),
  }
}
