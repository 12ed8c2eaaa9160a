import type { EventQueries, EventStore } from '../store.ts'
import type { Database } from './dialect.ts'
import { readEvents, readPlaces, readValues } from './event-queries.ts'
import { measureFunnel } from './funnel-queries.ts'
import { sampleMoments } from './moment-queries.ts'
import { measurePaths } from './path-queries.ts'
import { countByPerson } from './person-count-queries.ts'
import { findProfiles } from './profile-queries.ts'
import { listProperties, listPropertyValues } from './property-queries.ts'
import { measureRetention } from './retention-queries.ts'
import { measureSegment } from './segment-queries.ts'
import { measureTrend } from './trend-queries.ts'
import { measureGoals, measurePages, measureVisits } from './visit-queries.ts'

/** The queries of the store, the same for both databases. */
export const createQueries = (database: Database): EventQueries & Pick<EventStore, 'queriesUntil'> => ({
  ...queriesOf(database),
  queriesUntil: (signal) =>
    queriesOf({
      ...database,
      query: (projectId, text, bindings, options) =>
        database.query(projectId, text, bindings, { ...options, signal }),
    }),
})

const queriesOf = (database: Database): EventQueries => ({
  measureTrend: (query) => measureTrend(database, query),
  measureFunnel: (query) => measureFunnel(database, query),
  measureRetention: (query) => measureRetention(database, query),
  measurePaths: (query) => measurePaths(database, query),
  measureVisits: (query) => measureVisits(database, query),
  measurePages: (query) => measurePages(database, query),
  measureGoals: (query) => measureGoals(database, query),
  listProperties: (query) => listProperties(database, query),
  listPropertyValues: (query) => listPropertyValues(database, query),
  findProfiles: (query) => findProfiles(database, query),
  measureSegment: (query) => measureSegment(database, query),
  countByPerson: (query) => countByPerson(database, query),
  sampleMoments: (query) => sampleMoments(database, query),
  readEvents: (query) => readEvents(database, query),
  readPlaces: (query) => readPlaces(database, query),
  readValues: (query) => readValues(database, query),
})
