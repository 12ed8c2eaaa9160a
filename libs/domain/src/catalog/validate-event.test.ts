import type { AcceptedEvent, ProjectSettings, ValidationItem } from '@waymark/contracts'
import { describe, expect, it } from 'vitest'
import { compileEventSchema } from './event-schema.ts'
import { validateEvent, validationModeOf } from './validate-event.ts'

const envelope: ValidationItem[] = [
  { field: 'visitorId', rule: 'missing_visitor_id', message: 'visitorId is missing' },
]
const check = compileEventSchema({ required: ['total'], properties: { total: { type: 'integer' } } })

const event = (eventName: string, properties: Record<string, unknown>): AcceptedEvent => ({
  eventId: 'e',
  eventName,
  properties,
})
const catalog = (settings: ProjectSettings = {}) => ({
  settings,
  hasDefinitions: true,
  checkFor: (name: string) => (name === 'order' ? check : undefined),
})
const rules = (items: ValidationItem[]) => items.map(({ rule }) => rule)

describe('validating an event', () => {
  it('does not report unknown names in a project without definitions', () => {
    const empty = (settings: ProjectSettings = {}) => ({
      settings,
      hasDefinitions: false,
      checkFor: () => undefined,
    })
    for (const mode of ['warn', 'enforce'] as const)
      expect(validateEvent(event('first', {}), envelope, mode, empty())).toEqual({
        violations: [],
        warnings: envelope,
      })
    const strict = { ingestValidation: { rejectUnknownEvents: true } }
    expect(rules(validateEvent(event('first', {}), [], 'enforce', empty(strict)).violations)).toEqual([
      'unknown_event',
    ])
    expect(validateEvent(event('first', {}), [], 'warn', empty(strict)).warnings).toEqual([])
  })

  it.each([
    ['off', 'order', { total: 'x' }, [], []],
    ['off', 'unknown', {}, [], []],
    ['warn', 'order', { total: 1 }, [], ['missing_visitor_id']],
    ['warn', 'order', { total: 'x' }, [], ['missing_visitor_id', 'type']],
    ['warn', 'unknown', {}, [], ['missing_visitor_id', 'unknown_event']],
    ['enforce', 'order', { total: 1 }, [], ['missing_visitor_id']],
    ['enforce', 'order', {}, ['required'], ['missing_visitor_id']],
    ['enforce', 'unknown', {}, [], ['missing_visitor_id', 'unknown_event']],
  ] as const)('in %s: %s %j', (mode, name, properties, violations, warnings) => {
    const verdict = validateEvent(event(name, properties), envelope, mode, catalog())
    expect(rules(verdict.violations)).toEqual(violations)
    expect(rules(verdict.warnings)).toEqual(warnings)
  })

  it('refuses unknown events in enforce mode if configured', () => {
    const strict = catalog({ ingestValidation: { rejectUnknownEvents: true } })
    expect(rules(validateEvent(event('unknown', {}), [], 'enforce', strict).violations)).toEqual([
      'unknown_event',
    ])
    expect(rules(validateEvent(event('unknown', {}), [], 'warn', strict).violations)).toEqual([])
  })

  it('reports the field, the expected and the received value', () => {
    expect(check({ total: 'much' })).toEqual([
      {
        field: 'properties.total',
        rule: 'type',
        expected: 'integer',
        actual: 'much',
        message: 'must be an integer; got "much"',
      },
    ])
    expect(check({})).toMatchObject([{ field: 'properties.total', rule: 'required' }])
  })
})

describe('the mode', () => {
  it('is the key’s, else the project’s, else warn', () => {
    expect(validationModeOf('off', { ingestValidation: { mode: 'enforce' } })).toBe('off')
    expect(validationModeOf(null, { ingestValidation: { mode: 'enforce' } })).toBe('enforce')
    expect(validationModeOf(null, {})).toBe('warn')
  })
})
