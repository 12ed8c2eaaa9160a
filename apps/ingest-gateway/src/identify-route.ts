import { MAX_IDENTIFY_BODY_BYTES, identify as operation } from '@waymark/contracts'
import {
  apiKeyOf,
  bodyOf,
  keyRoute,
  type LimitRequests,
  type Platform,
  type Route,
  rawBodyOf,
} from '@waymark/service-kit'
import type { createIdentify } from './identify.ts'
import { parseIdentify } from './identify-request.ts'
import { wantsSync } from './sender.ts'

type Deps = {
  apiKeys: Platform['apiKeys']
  limitRequests: LimitRequests
  identify: ReturnType<typeof createIdentify>['identify']
}

/** 202; with `sync=1` or `X-Service-Sync: 1` 200, which is never given for a queued one. */
export const identifyRoute = ({ identify, ...deps }: Deps): Route =>
  keyRoute(operation, { ...deps, maxBodyBytes: MAX_IDENTIFY_BODY_BYTES }, async (req, res) => {
    const mustBeApplied = wantsSync(req)
    const request = parseIdentify(bodyOf(req).value, rawBodyOf(res))
    const result = await identify(apiKeyOf(res).projectId, request, { mustBeApplied })
    res.status(mustBeApplied ? 200 : 202).json(result)
  })
