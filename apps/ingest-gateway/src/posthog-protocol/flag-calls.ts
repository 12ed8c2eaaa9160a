import type { Decision } from '@waymark/contracts/decision-definition'
import { type Expose, exposedIdentity, readExposure } from '@waymark/pipeline'
import type { ProjectConfigs } from '@waymark/project-config'

/** The event with which an SDK of PostHog says which variant of a flag a person has got. */
const FLAG_CALLED = '$feature_flag_called'

/** An event of PostHog's protocol in terms of Waymark. Its values come from a client. */
type FlagCall = {
  eventName?: unknown
  properties?: unknown
  visitorId?: unknown
  userId?: unknown
  clientTimestamp?: unknown
}
type Deps = { projectConfigs: ProjectConfigs; expose: Expose; clock: () => number }

/**
 * Counts the exposures that events of PostHog's SDKs report, as `POST /api/v1/exposures` does. Those that name no flag, no
 * variant of one or no person do not count.
 */
export const createReportFlagCalls =
  ({ projectConfigs, expose, clock }: Deps) =>
  async (
    events: readonly FlagCall[],
    { projectId, environment }: { projectId: string; environment: string },
  ): Promise<void> => {
    const calls = events.filter(({ eventName }) => eventName === FLAG_CALLED)
    if (calls.length === 0) return
    const config = await projectConfigs.get(projectId)
    const decisions = config.decisions.in(environment)
    for (const { properties, clientTimestamp, ...ids } of calls) {
      const { $feature_flag: key, $feature_flag_response: response } = Object(properties)
      const [visitorId, userId] = [textOf(ids.visitorId), textOf(ids.userId)]
      const decision = typeof key === 'string' ? decisions.get(key)?.decision : undefined
      const variant = decision && variantOf(decision, response)
      if (!decision || variant === undefined || (visitorId ?? userId) === null) continue
      const read = readExposure(
        { key: decision.key, variant, at: textOf(clientTimestamp) },
        decisions,
        clock(),
      )
      if (typeof read === 'string') continue
      const identity = exposedIdentity(projectId, { visitorId, userId })
      const subject = { subject: identity.value, identity, profileId: null, projectId }
      expose(read.compiled, read.choice, { ...subject, decidedAt: new Date(read.at).toISOString() })
    }
  }

export type ReportFlagCalls = ReturnType<typeof createReportFlagCalls>

const textOf = (value: unknown): string | null => (typeof value === 'string' && value !== '' ? value : null)

/** The variant that an answer of `/flags` named: by its key, or by its value for a flag that is on or off. */
const variantOf = ({ definition }: Decision, response: unknown): string | undefined =>
  typeof response === 'boolean'
    ? definition.variants.find(({ value }) => value === response)?.key
    : definition.variants.find(({ key }) => key === response)?.key
