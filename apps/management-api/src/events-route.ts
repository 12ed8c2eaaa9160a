import { listEvents as operation } from '@waymark/contracts'
import type { Route } from '@waymark/service-kit'
import { formatCursor, placeQuery } from './event-query.ts'
import type { createListEvents } from './list-events.ts'
import type { ProjectRouteFactory } from './project-route.ts'

type Deps = { projectRoute: ProjectRouteFactory; listEvents: ReturnType<typeof createListEvents> }

/** A project's events, the last received first. */
export const eventsRoute = ({ projectRoute, listEvents }: Deps): Route =>
  projectRoute(operation, async ({ projectId, query }) => {
    const { events, next } = await listEvents(projectId, placeQuery(query))
    return { body: { data: events, nextCursor: next ? formatCursor(next) : null } }
  })
