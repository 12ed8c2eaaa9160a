import { AppError, storeUnavailable } from '@waymark/contracts/app-error'
import {
  exposuresRequest,
  MAX_DECIDE_BODY_BYTES,
  reportExposures as operation,
  type ReportedExposure,
  type ReportedExposures,
  reportedExposure,
} from '@waymark/contracts/http/decide'
import { requireValid } from '@waymark/contracts/require-valid'
import { type Expose, exposedIdentity, readExposure } from '@waymark/pipeline'
import { type CorePlatform, keyRoute, type LimitRequests, type Route } from '@waymark/service-kit'

type Deps = Pick<CorePlatform, 'apiKeys' | 'projectConfigs' | 'clock'> & {
  limitRequests: LimitRequests
  expose: Expose
  /** Notes that somebody evaluated a decision, elsewhere. */
  noteEvaluated: (decisionId: string) => void
}

/** 202 with the number of exposures that count. */
export const reportExposuresRoute = ({
  projectConfigs,
  expose,
  noteEvaluated,
  clock,
  ...deps
}: Deps): Route =>
  keyRoute(
    operation,
    { ...deps, maxBodyBytes: MAX_DECIDE_BODY_BYTES, beacons: true },
    async ({ apiKey, body }) => {
      const { exposures, ignored } = sortExposures(requireValid(exposuresRequest, body.value).exposures)
      const { projectId, environment } = apiKey
      const config = await projectConfigs.get(projectId)
      const decisions = config.decisions.in(environment)
      const now = clock()
      let accepted = 0
      for (const { index, exposure } of exposures) {
        const read = readExposure(exposure, decisions, now)
        if (typeof read === 'string') {
          ignored.push({ index, reason: read })
          continue
        }
        const { compiled, choice, at } = read
        noteEvaluated(compiled.decision.id)
        const identity = exposedIdentity(projectId, exposure)
        const subject = { subject: identity.value, identity, profileId: null, projectId }
        // Those before it are kept. Repeating the request does not count them twice.
        if (!expose(compiled, choice, { ...subject, decidedAt: new Date(at).toISOString() }))
          throw storeUnavailable()
        accepted++
      }
      ignored.sort((a, b) => a.index - b.index)
      return { status: 202, body: { accepted, ignored } }
    },
  )

type Ignored = ReportedExposures['ignored']

/**
 * Separates the exposures that are valid from the others.
 * @throws AppError bad_request when none is valid
 */
const sortExposures = (given: readonly unknown[]) => {
  const exposures: { index: number; exposure: ReportedExposure }[] = []
  const ignored: Ignored = []
  for (const [index, exposure] of given.entries()) {
    if (!reportedExposure.fits(exposure)) {
      const { field = '', message = 'is not valid' } = reportedExposure.check(exposure) ?? {}
      ignored.push({ index, reason: `${field || 'The exposure'} ${message}` })
    } else if (exposure.visitorId == null && exposure.userId == null)
      ignored.push({ index, reason: 'needs a visitorId or a userId' })
    else exposures.push({ index, exposure })
  }
  const [first] = ignored
  if (exposures.length === 0 && first)
    throw new AppError('bad_request', `exposures.${first.index}: ${first.reason}`)
  return { exposures, ignored }
}
