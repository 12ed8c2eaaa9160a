import { MAX_DECIDE_BODY_BYTES, decide as operation } from '@waymark/contracts'
import type { DecisionSet } from '@waymark/domain'
import { type CorePlatform, keyRoute, type LimitRequests, type Route } from '@waymark/service-kit'
import type { Decide } from './decide.ts'
import { parseDecide } from './decide-request.ts'

type Deps = { apiKeys: CorePlatform['apiKeys']; limitRequests: LimitRequests; decide: Decide }

/** 200 with a decision for each key, or for all that are active. */
export const decideRoute = ({ decide, ...deps }: Deps): Route =>
  keyRoute(operation, { ...deps, maxBodyBytes: MAX_DECIDE_BODY_BYTES }, async ({ apiKey, body }) => {
    const { keys, ...request } = parseDecide(body.value)
    const which = keys ?? allActive
    return { body: await decide({ ...request, projectId: apiKey.projectId, which, shown: true }) }
  })

const allActive = ({ active }: DecisionSet) => active
