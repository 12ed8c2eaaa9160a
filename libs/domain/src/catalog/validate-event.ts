import type { AcceptedEvent, ProjectSettings, ValidationItem, ValidationMode } from '@waymark/contracts'
import { WorkBudget } from '../logic/work-budget.ts'
import type { PropertyCheck } from './event-schema.ts'

/** What validating an event needs of its project. */
export type Catalog = {
  settings: ProjectSettings
  /** Whether the project has any event definition. */
  hasDefinitions: boolean
  /** The check of an event's definition, or `undefined` when it has none. */
  checkFor: (eventName: string) => PropertyCheck | undefined
}

/** What validation found: reasons to refuse the event, and things to tell about it. */
export type Verdict = { violations: ValidationItem[]; warnings: ValidationItem[] }

/** The mode that counts: the key's own, else the project's, else `warn`. */
export const validationModeOf = (ofKey: ValidationMode | null, settings: ProjectSettings): ValidationMode =>
  ofKey ?? settings.ingestValidation?.mode ?? 'warn'

/**
 * Holds an event against its project's catalog. `off` reports nothing, `warn` only warns; in `enforce` violations of
 * the schema refuse the event, and so does having no definition if the project wants that. A project without any
 * definition does not use the catalog yet, so that a name without one is no warning.
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
