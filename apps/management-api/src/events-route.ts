import { AppError } from '@waymark/contracts'
import { apiKeyOf, type Platform, type Route, requireApiKey } from '@waymark/service-kit'
import type { RequestHandler } from 'express'
import { formatCursor, parseEventQuery } from './event-query.ts'
import type { createListEvents } from './list-events.ts'

type Deps = { apiKeys: Platform['apiKeys']; listEvents: ReturnType<typeof createListEvents> }

/** `GET /api/projects/{projectId}/events`: a project's events, the last received first. */
export const eventsRoute = ({ apiKeys, listEvents }: Deps): Route => {
  const answer: RequestHandler = async (req, res) => {
    const { projectId } = apiKeyOf(res)
    // Somebody else's project looks like one that does not exist.
    if (req.params.projectId !== projectId) throw new AppError('not_found', 'Not found')
    const { events, next } = await listEvents(projectId, parseEventQuery(req.query))
    res.json({ data: events, nextCursor: next ? formatCursor(next) : null })
  }
  return {
    method: 'get',
    path: '/api/projects/:projectId/events',
    handlers: [requireApiKey(apiKeys, 'manage:read'), answer],
  }
}
