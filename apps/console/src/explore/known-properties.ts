import { keepPreviousData, useQuery } from '@tanstack/react-query'
import { useParams } from '@tanstack/react-router'
import { api, unwrap } from '../api/client.ts'
import { useProjectId } from '../api/session.ts'
import { useIsShared } from '../api/shared.ts'
import { atATime, whenBusy } from './run-query.ts'

/** Properties that every event may have. */
const COMMON: readonly string[] = [
  'context.country',
  'context.city',
  'context.device',
  'context.browser',
  'context.os',
  'context.path',
  'context.referrerHost',
  'context.bot',
  'utm.source',
  'utm.medium',
  'utm.campaign',
  'utm.term',
  'utm.content',
  'campaign',
  'link',
  'eventName',
]

type KnownProperties = {
  /** Property names, those of events first. */
  names: readonly string[]
  /** Names of numeric properties. */
  numbers: readonly string[]
  /** The types of a property's values; empty if unknown. */
  typesOf: (property: string) => readonly string[]
}

/** The properties of events with a name (or of all events) in the last 30 days, and those of every event. */
export const useProperties = (eventName?: string): KnownProperties => {
  const { projectId = '' } = useParams({ strict: false })
  const isShared = useIsShared()
  const { data = [] } = useQuery({
    queryKey: [projectId, 'properties', eventName],
    enabled: !isShared,
    queryFn: async () => {
      const query = { limit: 200, ...(eventName && { eventName }) }
      const { data: found } = await atATime(() =>
        unwrap(
          api.GET('/api/projects/{projectId}/analytics/properties', {
            params: { path: { projectId }, query },
          }),
        ),
      )
      return found
    },
    placeholderData: keepPreviousData,
    staleTime: 60_000,
    ...whenBusy,
  })
  const types = new Map(data.map((property) => [property.name, property.types as readonly string[]]))
  return {
    names: [...types.keys(), ...COMMON],
    numbers: data.filter(({ types: own }) => own.includes('number')).map(({ name }) => name),
    typesOf: (property) => {
      if (property === 'context.bot') return ['boolean']
      return types.get(property) ?? (COMMON.includes(property) ? ['string'] : [])
    },
  }
}

/** The most frequent values of a property that contain a text. */
export const usePropertyValues = (property: string, eventName: string | undefined, contains: string) => {
  const projectId = useProjectId()
  const { data = [] } = useQuery({
    queryKey: [projectId, 'property-values', property, eventName, contains],
    enabled: property !== '',
    queryFn: async ({ signal }) => {
      const query = {
        property,
        limit: 50,
        ...(eventName && { eventName }),
        ...(contains && { q: contains }),
      }
      const { data: found } = await atATime(() => {
        signal.throwIfAborted()
        return unwrap(
          api.GET('/api/projects/{projectId}/analytics/property-values', {
            params: { path: { projectId }, query },
            signal,
          }),
        )
      })
      return found.map(({ value }) => value)
    },
    placeholderData: (previous, query) => (query?.queryKey[2] === property ? previous : undefined),
    staleTime: 60_000,
    ...whenBusy,
  })
  return data
}
