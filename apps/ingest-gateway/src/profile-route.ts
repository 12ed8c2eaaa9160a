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

/**
 * 200 with all the traits that the profile has then; a key that everybody can read in a page gets only those back that it
 * named, for it would tell everybody of everybody.
 */
export const profileRoute = ({ writeProfile, ...deps }: Deps): Route =>
  keyRoute(operation, { ...deps, maxBodyBytes: MAX_IDENTIFY_BODY_BYTES }, async (req, res) => {
    const request = parseProfileWrite(bodyOf(req).value, rawBodyOf(res))
    const { projectId, kind } = apiKeyOf(res)
    const { traits, ...result } = await writeProfile(projectId, request)
    res.json({ ...result, traits: kind === 'sec' ? traits : namedOf(traits, request.traits) })
  })

const namedOf = (traits: Record<string, unknown>, named: object): Record<string, unknown> =>
  Object.fromEntries(Object.entries(traits).filter(([name]) => Object.hasOwn(named, name)))
