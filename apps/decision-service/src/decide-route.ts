import { MAX_DECIDE_BODY_BYTES, decide as operation } from '@waymark/contracts'
import type { DecisionSet } from '@waymark/domain'
import { apiKeyOf, bodyOf, keyRoute, type Platform, type Route } from '@waymark/service-kit'
import type { RequestHandler } from 'express'
import type { Decide } from './decide.ts'
import { parseDecide } from './decide-request.ts'

type Deps = { apiKeys: Platform['apiKeys']; limitRequests: RequestHandler; decide: Decide }

/** 200 with a decision for each key, or for all that are active. */
export const decideRoute = ({ decide, ...deps }: Deps): Route =>
  keyRoute(operation, { ...deps, maxBodyBytes: MAX_DECIDE_BODY_BYTES }, async (req, res) => {
    const { keys, ...request } = parseDecide(bodyOf(req).value)
    const { projectId } = apiKeyOf(res)
    const which = keys ?? allActive
    res.json(await decide({ ...request, projectId, which, shown: true }))
  })

const allActive = ({ active }: DecisionSet) => active
