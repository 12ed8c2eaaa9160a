import { AppError } from '@waymark/contracts/app-error'
import {
  releaseHold as releaseOperation,
  renewHold as renewOperation,
  renewRequest,
} from '@waymark/contracts/http/holds'
import { requireValid } from '@waymark/contracts/require-valid'
import { UUID } from '@waymark/contracts/validator'
import type { ApiKey } from '@waymark/project-config'
import {
  type CorePlatform,
  type KeyCall,
  keyRoute,
  type LimitRequests,
  type Route,
} from '@waymark/service-kit'
import { type createHolds, HOLD_NOT_FOUND, type Holder } from './hold-cart.ts'
import type { HoldRef } from './hold-queries.ts'

type Deps = {
  apiKeys: CorePlatform['apiKeys']
  limitRequests: LimitRequests
  holds: ReturnType<typeof createHolds>
}

/** Maximum size of a request to renew, in bytes. */
const MAX_BODY_BYTES = 1024

/** Renews and releases holds by their id. A hold of another project, or one that has ended, is not found. */
export const holdRoutes = ({ holds, ...deps }: Deps): Route[] => [
  keyRoute(renewOperation, { ...deps, maxBodyBytes: MAX_BODY_BYTES }, async (call) => {
    const { hold } = requireValid(renewRequest, call.body.value)
    const renewed = await holds.renew(refOf(call), hold)
    if (!renewed) throw notLive()
    return { body: renewed }
  }),
  keyRoute(releaseOperation, deps, async (call) => {
    if (!(await holds.release(refOf(call)))) throw notLive()
    return { status: 204 }
  }),
]

const refOf = ({ apiKey, request: { params } }: KeyCall): HoldRef => {
  const key = params.holdId ?? ''
  if (!UUID.test(key)) throw notLive()
  return { projectId: apiKey.projectId, keyKind: apiKey.kind, key }
}

const notLive = () => new AppError('not_found', HOLD_NOT_FOUND)

/** The key as the holder of a cart. @throws AppError forbidden without the scope to redeem */
export const holderOf = ({ projectId, kind, scopes }: ApiKey): Holder => {
  if (!scopes.includes('coupons:redeem'))
    throw new AppError('forbidden', 'hold requires an API key with the scope coupons:redeem', {
      requiredScope: 'coupons:redeem',
    })
  return { projectId, keyKind: kind }
}

/** How long to hold a cart, and under which id. @throws AppError bad_request for an id without a time */
export const parseHold = ({ hold, holdId }: { hold?: number; holdId?: string }) => {
  if (holdId !== undefined && hold === undefined)
    throw new AppError('bad_request', 'hold is required beside holdId: the seconds to hold the cart')
  return { hold: hold ?? null, holdId: holdId?.toLowerCase() ?? null }
}
