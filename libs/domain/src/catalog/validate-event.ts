import type { AcceptedEvent, ProjectSettings, ValidationItem, ValidationMode } from '@waymark/contracts'
import type { PropertyCheck } from './event-schema.ts'

/** What validating an event needs of its project. */
export type Catalog = {
  settings: ProjectSettings
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
 * the schema refuse the event, and so does having no definition if the project wants that.
 */
export const validateEvent = (
  event: AcceptedEvent,
  envelopeWarnings: readonly ValidationItem[],
  mode: ValidationMode,
  catalog: Catalog,
): Verdict => {
  if (mode === 'off') return { violations: [], warnings: [] }
  const check = catalog.checkFor(event.eventName)
  const found = check ? check(event.properties) : [unknownEvent(event.eventName)]
  const refuses =
    mode === 'enforce' &&
    (check !== undefined || catalog.settings.ingestValidation?.rejectUnknownEvents === true)
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
