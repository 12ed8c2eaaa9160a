import {
  MAX_RETENTION_COHORTS,
  type RetentionRequest,
  type RetentionView,
} from '@waymark/contracts/http/analytics'
import type { RetentionQuery } from '@waymark/event-store'
import type { QueryStore } from './run-queries.ts'
import { bucketsAfter, readBuckets, readRange, readTimeZone, timeText } from './time-range.ts'

/** Reads a retention query. @throws AppError unprocessable with the invalid field */
export const readRetention = (request: RetentionRequest): Omit<RetentionQuery, 'projectId'> => {
  const { startEvent, returnEvent, interval, periods } = request
  const range = readRange(request)
  const timeZone = readTimeZone(request.timeZone)
  const cohorts = readBuckets(interval, timeZone, range, MAX_RETENTION_COHORTS)
  const later = bucketsAfter(interval, timeZone, cohorts.at(-1) ?? range.from, periods + 1)
  return {
    ...range,
    startEvent,
    returnEvent,
    periods,
    bounds: [...cohorts, ...later],
    cohorts: cohorts.length,
  }
}

/** Runs a retention query. */
export const answerRetention = async (
  queryStore: QueryStore,
  projectId: string,
  query: Omit<RetentionQuery, 'projectId'>,
): Promise<RetentionView> => {
  const rows = await queryStore((store) => store.measureRetention({ projectId, ...query }))
  const cohorts = query.bounds.slice(0, query.cohorts).map((at) => ({
    at: timeText(at),
    size: 0,
    returned: new Array<number>(query.periods + 1).fill(0),
  }))
  for (const { cohort: place, period, people } of rows) {
    const cohort = cohorts[place]
    if (cohort && period === null) cohort.size = people
    else if (cohort && period !== null) cohort.returned[period] = people
  }
  return { cohorts }
}
