import type { AcceptedEvent, ProjectSettings, ValidationItem, ValidationMode } from '@waymark/contracts'
import { WorkBudget } from '../logic/work-budget.ts'
import type { PropertyCheck } from './event-schema.ts'

/** The configuration of a project for validating events. */
export type Catalog = {
  settings: ProjectSettings
  /** Whether the project has any event definition. */
  hasDefinitions: boolean
  /** The check for an event name, or `undefined` without a definition. */
  checkFor: (eventName: string) => PropertyCheck | undefined
}

/** Errors refuse the event; warnings do not. */
type Verdict = { violations: ValidationItem[]; warnings: ValidationItem[] }

/** The validation mode: that of the key, else of the project, else `warn`. */
export const validationModeOf = (ofKey: ValidationMode | null, settings: ProjectSettings): ValidationMode =>
  ofKey ?? settings.ingestValidation?.mode ?? 'warn'

/**
 * Validates an event against the catalog of its project. `off` reports nothing and `warn` only warnings. `enforce` refuses
 * events that violate their schema, and those without a definition if the project is configured so. In a project without
 * any definition, a missing one is not a warning.
 */
export const validateEvent = (
  event: AcceptedEvent,
  envelopeWarnings: readonly ValidationItem[],
  mode: ValidationMode,
  catalog: Catalog,
  budget = new WorkBudget(),
): Verdict => {
  if (mode === 'off') return { violations: [], warnings: [] }
  const check = catalog.checkFor(event.eventName)
  const rejectsUnknown = mode === 'enforce' && catalog.settings.ingestValidation?.rejectUnknownEvents === true
  if (!check && !catalog.hasDefinitions && !rejectsUnknown)
    return { violations: [], warnings: [...envelopeWarnings] }
  const found = check ? check(event.properties, budget) : [unknownEvent(event.eventName)]
  const refuses = mode === 'enforce' && (check !== undefined || rejectsUnknown)
  return refuses
    ? { violations: found, warnings: [...envelopeWarnings] }
    : { violations: [], warnings: envelopeWarnings.concat(found) }
}

const unknownEvent = (eventName: string): ValidationItem => ({
  field: 'eventName',
  rule: 'unknown_event',
  actual: eventName,
  message: 'has no event definition',
})
