import { useQuery } from '@tanstack/react-query'
import { Link } from '@tanstack/react-router'
import { api, unwrap } from '../api/client.ts'
import { useProjectId } from '../api/session.ts'
import { Badge } from '../ui/badge.tsx'
import { Card } from '../ui/card.tsx'
import { formatNumber } from '../ui/format.tsx'
import { Icon } from '../ui/icon.tsx'
import { ErrorState, SkeletonLines } from '../ui/states.tsx'

const SHOWN = 100

/** The number of entries, "100+" for more than a page. */
const countOf = (open: number): string => (open >= SHOWN ? `${SHOWN}+` : formatNumber(open))

/** Whether events arrive, and the number of rejected and failed ones. */
export const Health = () => {
  const projectId = useProjectId()
  const params = { path: { projectId }, query: { limit: SHOWN } }
  const { data, error, refetch } = useQuery({
    queryKey: [projectId, 'health'],
    queryFn: async () => {
      const [rejected, dead, latest] = await Promise.all([
        unwrap(api.GET('/api/projects/{projectId}/rejected-events', { params })),
        unwrap(api.GET('/api/projects/{projectId}/dead-letters', { params })),
        unwrap(
          api.GET('/api/projects/{projectId}/events', {
            params: { path: { projectId }, query: { limit: 1 } },
          }),
        ),
      ])
      const open = (rows: { replayedAt: string | null }[]) =>
        rows.filter(({ replayedAt }) => replayedAt === null).length
      return { rejected: open(rejected.data), dead: open(dead.data), latest: latest.data[0] }
    },
    refetchInterval: 10_000,
  })
  if (error)
    return (
      <Card title="Pipeline">
        <ErrorState error={error} retry={() => void refetch()} />
      </Card>
    )
  if (!data)
    return (
      <Card title="Pipeline">
        <SkeletonLines />
      </Card>
    )
  const delayMs = data.latest ? Date.parse(data.latest.receivedAt) - Date.parse(data.latest.timestamp) : 0
  const rows = [
    { name: 'Rejected events', count: data.rejected, to: '/p/$projectId/catalog/rejected' },
    { name: 'Dead letters', count: data.dead, to: '/p/$projectId/catalog/dead-letters' },
  ] as const
  return (
    <Card title="Pipeline" padded>
      <ul className="flex flex-col gap-1">
        {rows.map(({ name, count, to }) => (
          <li key={name}>
            <Link
              to={to}
              params={{ projectId }}
              className="-mx-2 flex items-center gap-2 rounded-lg px-2 py-1.5 hover:bg-subtle"
            >
              <Icon
                name={count === 0 ? 'check' : 'alert'}
                className={count === 0 ? 'text-accent-text' : 'text-warning'}
              />
              <span className="grow">{name}</span>
              <Badge tone={count === 0 ? 'good' : 'warning'}>{count === 0 ? 'none' : countOf(count)}</Badge>
            </Link>
          </li>
        ))}
        <li className="flex items-center gap-2 py-1.5">
          <Icon name="live" className="text-accent-text" />
          <span className="grow">Latest event took</span>
          <Badge tone="good">
            {data.latest ? `${formatNumber(Math.max(0, Math.min(delayMs, 86_400_000)))} ms` : '–'}
          </Badge>
        </li>
      </ul>
    </Card>
  )
}
