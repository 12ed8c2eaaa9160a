import { useQuery } from '@tanstack/react-query'
import { api, unwrap } from '../api/client.ts'
import { type Page, readAll } from '../api/pages.ts'
import { useProjectId } from '../api/session.ts'
import type { CouponPool, MeteringSelector, Segment } from '../api/types.ts'
import type { Choice } from '../ui/choose.tsx'

const NONE: readonly Choice[] = []

type Query = { limit: number; cursor?: string }

/** The choices among all rows of a list. */
const useChoices = <Row>(
  name: string,
  readPage: (projectId: string, query: Query) => Promise<Page<Row>>,
  choicesOf: (rows: readonly Row[]) => readonly Choice[],
): readonly Choice[] => {
  const projectId = useProjectId()
  const { data = NONE } = useQuery({
    queryKey: [projectId, name],
    queryFn: async () =>
      choicesOf(await readAll<Row>((cursor) => readPage(projectId, { limit: 100, ...cursor }))),
  })
  return data
}

/** All coupon pools whose codes a variant can give. */
export const usePoolChoices = (): readonly Choice[] =>
  useChoices<CouponPool>(
    'pools-to-choose',
    (projectId, query) =>
      unwrap(api.GET('/api/projects/{projectId}/coupon-pools', { params: { path: { projectId }, query } })),
    (pools) =>
      pools
        .filter(({ kind }) => kind !== 'automatic' && kind !== 'balance')
        .map(({ id, name }) => [id, name] as const),
  )

/** All metering selectors, by their event names. */
export const useSelectorChoices = (): readonly Choice[] =>
  useChoices<MeteringSelector>(
    'selectors-to-choose',
    (projectId, query) =>
      unwrap(
        api.GET('/api/projects/{projectId}/metering-selectors', { params: { path: { projectId }, query } }),
      ),
    (selectors) => selectors.map(({ id, eventName }) => [id, eventName] as const),
  )

/** All segments, by their keys. */
export const useSegmentChoices = (): readonly Choice[] =>
  useChoices<Segment>(
    'segments-to-choose',
    (projectId, query) =>
      unwrap(api.GET('/api/projects/{projectId}/segments', { params: { path: { projectId }, query } })),
    (segments) => segments.map(({ key, name }) => [key, name] as const),
  )
