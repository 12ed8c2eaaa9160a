import { useQuery } from '@tanstack/react-query'
import { api, unwrap } from '../api/client.ts'
import { readAll } from '../api/pages.ts'
import { useProjectId } from '../api/session.ts'
import type { CouponPool, MeteringSelector, Segment } from '../api/types.ts'
import type { Choice } from '../ui/choose.tsx'

const NONE: readonly Choice[] = []

/** All coupon pools whose codes a variant can give. */
export const usePoolChoices = (): readonly Choice[] => {
  const projectId = useProjectId()
  const { data = NONE } = useQuery({
    queryKey: [projectId, 'pools-to-choose'],
    queryFn: async () => {
      const pools = await readAll<CouponPool>((cursor) =>
        unwrap(
          api.GET('/api/projects/{projectId}/coupon-pools', {
            params: { path: { projectId }, query: { limit: 100, ...cursor } },
          }),
        ),
      )
      return pools
        .filter(({ kind }) => kind !== 'automatic' && kind !== 'balance')
        .map(({ id, name }): Choice => [id, name])
    },
  })
  return data
}

/** All metering selectors, by their event names. */
export const useSelectorChoices = (): readonly Choice[] => {
  const projectId = useProjectId()
  const { data = NONE } = useQuery({
    queryKey: [projectId, 'selectors-to-choose'],
    queryFn: async () => {
      const selectors = await readAll<MeteringSelector>((cursor) =>
        unwrap(
          api.GET('/api/projects/{projectId}/metering-selectors', {
            params: { path: { projectId }, query: { limit: 100, ...cursor } },
          }),
        ),
      )
      return selectors.map(({ id, eventName }): Choice => [id, eventName])
    },
  })
  return data
}

/** All segments, by their keys. */
export const useSegmentChoices = (): readonly Choice[] => {
  const projectId = useProjectId()
  const { data = NONE } = useQuery({
    queryKey: [projectId, 'segments-to-choose'],
    queryFn: async () => {
      const segments = await readAll<Segment>((cursor) =>
        unwrap(
          api.GET('/api/projects/{projectId}/segments', {
            params: { path: { projectId }, query: { limit: 100, ...cursor } },
          }),
        ),
      )
      return segments.map(({ key, name }): Choice => [key, name])
    },
  })
  return data
}
