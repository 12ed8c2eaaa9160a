import { MAX_IDENTIFY_BODY_BYTES } from '@waymark/contracts'
import {
  apiKeyOf,
  bodyOf,
  jsonBody,
  type Platform,
  type Route,
  rawBodyOf,
  requireApiKey,
} from '@waymark/service-kit'
import type { RequestHandler } from 'express'
import type { createIdentify } from './identify.ts'
import { parseProfileWrite } from './identify-request.ts'

type Deps = {
  apiKeys: Platform['apiKeys']
  limitRequests: RequestHandler
  writeProfile: ReturnType<typeof createIdentify>['writeProfile']
}

/** `PUT /api/v1/profile`: 200 with all the traits that the profile has then. */
export const profileRoute = ({ apiKeys, limitRequests, writeProfile }: Deps): Route => ({
  method: 'put',
  path: '/api/v1/profile',
  handlers: [
    requireApiKey(apiKeys, 'events:write'),
    limitRequests,
    ...jsonBody(MAX_IDENTIFY_BODY_BYTES),
    async (req, res) => {
      const request = parseProfileWrite(bodyOf(req).value, rawBodyOf(res))
      res.json(await writeProfile(apiKeyOf(res).projectId, request))
    },
  ],
})
