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
import type { createIdentify } from './identify.ts'
import { parseIdentify } from './identify-request.ts'
import { wantsSync } from './sender.ts'

type Deps = { apiKeys: Platform['apiKeys']; identify: ReturnType<typeof createIdentify>['identify'] }

/** `POST /api/v1/identify`: 202; with `sync=1` or `X-Service-Sync: 1` 200, which is never given for a queued one. */
export const identifyRoute = ({ apiKeys, identify }: Deps): Route => ({
  method: 'post',
  path: '/api/v1/identify',
  handlers: [
    requireApiKey(apiKeys, 'events:write'),
    ...jsonBody(MAX_IDENTIFY_BODY_BYTES),
    async (req, res) => {
      const mustBeApplied = wantsSync(req)
      const request = parseIdentify(bodyOf(req).value, rawBodyOf(res))
      const result = await identify(apiKeyOf(res).projectId, request, { mustBeApplied })
      res.status(mustBeApplied ? 200 : 202).json(result)
    },
  ],
})
