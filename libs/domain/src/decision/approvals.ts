import { type Approvals, type Requirement, requirementIn } from '@waymark/contracts/approvals'
import type { Decision, DecisionDefinition } from '@waymark/contracts/decision-definition'
import { PRODUCTION } from '@waymark/contracts/environment'
import { canonicalJson } from '../json/index.ts'

/** What people get by: the status and the definition of a decision. */
export type DecisionContent = Pick<Decision, 'status' | 'definition'>

/** Approvals that a change needs, and the environments in which it needs them. */
export type NeededApproval = Requirement & { environments: string[] }

/** The approvals that a change needs which affects environments. Empty when it needs none. */
export const approvalsFor = (
  settings: Approvals | undefined,
  affected: readonly string[],
): NeededApproval[] => {
  const needed = new Map<string, NeededApproval>()
  for (const environment of affected) {
    const requirement = settings && requirementIn(settings, environment)
    if (!requirement) continue
    const key = canonicalJson([requirement.required, [...requirement.roles].sort()])
    const known = needed.get(key)
    if (known) known.environments.push(environment)
    else needed.set(key, { ...requirement, environments: [environment] })
  }
  return [...needed.values()]
}

/**
 * The environments in which a change may give people something else. Turning a decision off there is none, so that nothing
 * delays it, and neither is work on a draft that is active nowhere, unless decisions depend on it. `before` is null for a
 * new decision.
 */
export const affectedEnvironments = (
  environments: readonly string[],
  before: DecisionContent | null,
  after: DecisionContent,
  { isPrerequisite = false } = {},
): string[] => {
  if (!before) return environments.filter((environment) => statusIn(after, environment) === 'active')
  if (!isPrerequisite && isInactiveDraft(before) && isInactiveDraft(after)) return []
  const sharedBefore = sharedPartsOf(before)
  const sharedAfter = sharedPartsOf(after)
  if (sharedBefore !== sharedAfter) return [...environments]
  return environments.filter((environment) => {
    if (rulesIn(before, environment) !== rulesIn(after, environment)) return true
    const status = statusIn(after, environment)
    return status !== statusIn(before, environment) && status !== 'paused'
  })
}

/** Whether a decision is a draft that is active in no environment. */
export const isInactiveDraft = ({ status, definition }: DecisionContent): boolean =>
  status === 'draft' && Object.values(definition.environments ?? {}).every((own) => own.status !== 'active')

/** Without its entry, a decision is off in an environment. Archiving applies to all. */
const statusIn = ({ status, definition }: DecisionContent, environment: string): string =>
  environment === PRODUCTION || status === 'archived'
    ? status
    : (definition.environments?.[environment]?.status ?? 'paused')

const rulesIn = ({ definition }: DecisionContent, environment: string): string =>
  canonicalJson(
    environment === PRODUCTION ? definition.rules : (definition.environments?.[environment]?.rules ?? []),
  )

/** All that is the same in each environment and matters to people: names do not. */
const sharedPartsOf = ({ definition }: DecisionContent): string => {
  const {
    name: _name,
    description: _description,
    owner: _owner,
    tags: _tags,
    rules: _rules,
    environments: _environments,
    metrics = [],
    ...shared
  }: DecisionDefinition = definition
  return canonicalJson({ ...shared, metrics })
}
