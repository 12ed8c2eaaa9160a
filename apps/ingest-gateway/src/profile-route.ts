import { MAX_IDENTIFY_BODY_BYTES, writeProfile as operation } from '@waymark/contracts'
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
import { parseProfileWrite } from './identify-request.ts'

type Deps = {
  apiKeys: Platform['apiKeys']
  limitRequests: LimitRequests
  writeProfile: ReturnType<typeof createIdentify>['writeProfile']
}

/** 200 with all the traits that the profile has then. */
export const profileRoute = ({ writeProfile, ...deps }: Deps): Route =>
  keyRoute(operation, { ...deps, maxBodyBytes: MAX_IDENTIFY_BODY_BYTES }, async (req, res) => {
    const request = parseProfileWrite(bodyOf(req).value, rawBodyOf(res))
    res.json(await writeProfile(apiKeyOf(res).projectId, request))
  })
