import { enrichedEvents, ingestRecords } from '@waymark/contracts/topics'
import { describe, expect, it } from 'vitest'
import { anEnrichedEvent, anIngestRecord } from './builders.ts'

const builders = [
  [ingestRecords, anIngestRecord],
  [enrichedEvents, anEnrichedEvent],
] as const

describe.each(builders)('$name', ({ validator }, build) => {
  it('accepts what its builder creates, also after sending it', () => {
    expect(validator.check(build())).toBeUndefined()
    expect(validator.check(JSON.parse(JSON.stringify(build())))).toBeUndefined()
  })

  it.each([
    ['v', 3],
    ['projectId', 'project-1'],
    ['receivedAt', 'yesterday'],
    ['warnings', null],
  ])('refuses %s = %j', (field, value) => {
    expect(validator.check({ ...build(), [field]: value })?.field).toBe(field)
  })
})

it('keeps the given values', () => {
  const record = { event: { eventName: 'signed_up' }, projectId: '01900000-0000-7000-8000-00000000000a' }
  expect(anIngestRecord(record)).toMatchObject({
    ...record,
    event: { eventName: 'signed_up', properties: {} },
  })
  expect(anEnrichedEvent(record)).toMatchObject({ projectId: record.projectId, eventName: 'signed_up' })
})
