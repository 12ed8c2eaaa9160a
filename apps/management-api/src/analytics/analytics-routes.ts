import {
  listProperties,
  listPropertyValues,
  MAX_QUERY_BYTES,
  measureFunnel,
  measurePaths,
  measureRetention,
  measureTrends,
} from '@waymark/contracts/http/analytics'
import { MAX_PROPERTY_NAME_LENGTH } from '@waymark/contracts/http/analytics-parts'
import { measureWeb } from '@waymark/contracts/http/web-analytics'
import { parsePropertyName, propertyNameOf } from '@waymark/domain/analytics'
import type { Route } from '@waymark/service-kit'
import type { ManagementDeps } from '../management-deps.ts'
import { answerFunnel, readFunnel } from './funnel.ts'
import { answerPaths, readPaths } from './paths.ts'
import { readProperty } from './read-filters.ts'
import { answerRetention, readRetention } from './retention.ts'
import { readOptionalRange, timeText } from './time-range.ts'
import { answerTrends, readTrends } from './trends.ts'
import { answerWeb, readWeb } from './web.ts'

/** Whether a request can have a property name, which no empty or very long key has. */
const isUsable = (name: string): boolean =>
  [...name].length <= MAX_PROPERTY_NAME_LENGTH && parsePropertyName(name) !== undefined

const BODY = { maxBodyBytes: MAX_QUERY_BYTES }

/** Analytics queries of a project. */
export const analyticsRoutes = ({ projectRoute, runQuery: run, clock }: ManagementDeps): Route[] => [
  projectRoute(
    measureTrends,
    async ({ projectId, request, body }) => {
      const plan = readTrends(body)
      return {
        body: await run({ projectId, request, ...plan.period }, (queryStore) =>
          answerTrends(queryStore, projectId, plan),
        ),
      }
    },
    BODY,
  ),
  projectRoute(
    measureFunnel,
    async ({ projectId, request, body }) => {
      const query = readFunnel(body)
      return {
        body: await run({ projectId, request, ...query }, (queryStore) =>
          answerFunnel(queryStore, projectId, query),
        ),
      }
    },
    BODY,
  ),
  projectRoute(
    measureRetention,
    async ({ projectId, request, body }) => {
      const query = readRetention(body)
      return {
        body: await run({ projectId, request, ...query }, (queryStore) =>
          answerRetention(queryStore, projectId, query),
        ),
      }
    },
    BODY,
  ),
  projectRoute(
    measurePaths,
    async ({ projectId, request, body }) => {
      const query = readPaths(body)
      return {
        body: await run({ projectId, request, ...query }, (queryStore) =>
          answerPaths(queryStore, projectId, query),
        ),
      }
    },
    BODY,
  ),
  projectRoute(
    measureWeb,
    async ({ projectId, request, body }) => {
      const plan = readWeb(body)
      return {
        body: await run({ projectId, request, ...plan.period }, (queryStore) =>
          answerWeb(queryStore, projectId, plan, clock()),
        ),
      }
    },
    BODY,
  ),
  projectRoute(listProperties, async ({ projectId, request, query: { eventName, limit, ...times } }) => {
    const query = { projectId, ...readOptionalRange(times, clock()), eventName, limit }
    const rows = await run({ ...query, request }, (queryStore) =>
      queryStore((store) => store.listProperties(query)),
    )
    return {
      body: {
        data: rows
          .map(({ key, types, share, lastSeen }) => ({
            name: propertyNameOf('properties', [key]),
            types,
            share,
            lastSeen: timeText(lastSeen),
          }))
          .filter(({ name }) => isUsable(name)),
      },
    }
  }),
  projectRoute(listPropertyValues, async ({ projectId, request, query: parameters }) => {
    const { property, q, eventName, limit, ...times } = parameters
    const query = {
      projectId,
      ...readOptionalRange(times, clock()),
      eventName,
      limit,
      property: readProperty('property', property),
      contains: q,
    }
    const data = await run({ ...query, request }, (queryStore) =>
      queryStore((store) => store.listPropertyValues(query)),
    )
    return { body: { data } }
  }),
]
