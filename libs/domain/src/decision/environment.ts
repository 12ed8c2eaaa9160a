import type { Decision, DecisionEnvironment } from '@waymark/contracts/decision-definition'
import { PRODUCTION } from '@waymark/contracts/environment'
import { v5 as uuidv5 } from 'uuid'

/**
 * A decision as it is evaluated in an environment. Where it has no rules of its own it is off, and a draft stays one.
 * An archived decision is archived everywhere.
 */
export const inEnvironment = (decision: Decision, environment: string): Decision => {
  if (environment === PRODUCTION) return decision
  const { status, definition } = decision
  const own = environmentOf(decision, environment)
  const off = status === 'active' ? 'paused' : status
  return {
    ...decision,
    environment,
    status: status === 'archived' ? status : (own?.status ?? off),
    definition: { ...definition, rules: own?.rules ?? [] },
  }
}

const environmentOf = (
  { definition: { environments = {} } }: Decision,
  environment: string,
): DecisionEnvironment | undefined =>
  Object.hasOwn(environments, environment) ? environments[environment] : undefined

/** A decision as it is evaluated in production and in each environment that it has rules for. */
export const inEachEnvironment = (decision: Decision): Decision[] => [
  decision,
  ...Object.keys(decision.definition.environments ?? {}).map((name) => inEnvironment(decision, name)),
]

/**
 * The id under which what people got by a decision in an environment is counted: exposures and frequency caps. That of
 * the decision in production, derived from it in others, so that neither counts for the other.
 */
export const countingIdOf = (decisionId: string, environment: string = PRODUCTION): string =>
  environment === PRODUCTION ? decisionId : uuidv5(`environment:${environment}`, decisionId)
