import { anEnrichedEvent } from '@waymark/testing/unit'
import { Registry } from 'prom-client'
import { expect, it } from 'vitest'
import { countStoredEvents } from './count-stored-events.ts'

it('counts events and their conversions, also of several services in one process', async () => {
  const registry = new Registry()
  const one = countStoredEvents(registry)
  const other = countStoredEvents(registry)
  expect(await registry.metrics()).toContain('waymark_stored_conversions_total 0\n')
  const event = anEnrichedEvent()
  const claim = { selectorId: 'one', amount: null, currency: null, quantity: null }
  one([event, { ...event, conversions: [claim, claim] }])
  other([event])
  expect(await registry.metrics()).toContain('waymark_stored_events_total 3\n')
  expect(await registry.metrics()).toContain('waymark_stored_conversions_total 2\n')
})
