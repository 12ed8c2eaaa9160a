import type { Constellation } from '@waymark/testing'
import { describe } from 'vitest'
import { describeAnalytics } from './analytics.suite.ts'
import { describeDecisions } from './decisions.suite.ts'
import { describeIdentity } from './identity.suite.ts'
import { describeIngestion } from './ingestion.suite.ts'
import { describeMainJob } from './main-job.suite.ts'
import { describeSegment } from './segment.suite.ts'
import { describeShortLinks } from './short-links.suite.ts'

type Installation = { url: string; apiKey: string; projectId: string }

// `npm run test:cluster` sets it.
const text = process.env.WAYMARK_DEPLOYED
if (!text)
  throw new Error('WAYMARK_DEPLOYED must be JSON with the url, apiKey and projectId of an installation')
const { url, apiKey, projectId } = JSON.parse(text) as Installation

/** An installation that the tests neither start nor stop. */
const deployed = async (): Promise<Constellation> => {
  const impossible = async () => {
    throw new Error('The processes of an installation cannot be killed')
  }
  return {
    apiKey,
    projectId,
    mailDir: '',
    request: (requested, init = {}) => {
      const headers = new Headers(init.headers)
      if (!headers.has('X-API-Key')) headers.set('X-API-Key', apiKey)
      return fetch(url + requested, { ...init, headers })
    },
    kill: impossible,
    restart: impossible,
    stop: async () => {},
  }
}

// Suites that start servers, read files or kill processes are left out.
describe('an installation', () => {
  describeMainJob(deployed)
  describe('catalog, conversions and keys', () => describeIngestion(deployed))
  describe('messages of Segment’s SDKs', () => describeSegment(deployed))
  describe('analytics', () => describeAnalytics(deployed))
  describe('people', () => describeIdentity(deployed))
  describe('short links', () => describeShortLinks(deployed))
  describe('decisions', () => describeDecisions(deployed))
})
