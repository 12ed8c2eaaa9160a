import { randomUUID } from 'node:crypto'
import { getDeliveryStats } from '@waymark/contracts/http/delivery-stats'
import {
  type ErasureRecordView,
  getErasureCertificate,
  getErasureKey,
  listErasures,
} from '@waymark/contracts/http/erasures'
import { trackEvents } from '@waymark/contracts/http/ingestion-operations'
import { getPipelineStats } from '@waymark/contracts/http/pipeline-stats'
import {
  eraseProfile,
  exportProfile,
  getProfile,
  getProfileTimeline,
  listProfiles,
} from '@waymark/contracts/http/profile-view'
import { getStats } from '@waymark/contracts/http/stats'
import { eventually } from '@waymark/testing'
import { type Example, stringIn } from './example.ts'
import type { World } from './world.ts'

/** A person with one event. */
const person = async ({ call }: World) => {
  const visitorId = randomUUID()
  await call(trackEvents, { body: { eventName: 'seen', visitorId }, query: { sync: '1' } })
  const { body } = await call(listProfiles, { query: { visitorId } })
  const [profile] = (body as { data: { id: string }[] }).data
  if (!profile) throw new Error('the person has no profile')
  return { params: { id: profile.id } }
}

/** The erasure of a person, once everything is removed. */
const erased = async (world: World) => {
  const { body } = await world.call(eraseProfile, await person(world))
  const id = stringIn(body, 'id')
  await eventually('everything is removed', async () => {
    const { body } = await world.call(listErasures, {})
    return (body as { data: ErasureRecordView[] }).data.some((one) => one.id === id && one.isComplete)
  })
  return { params: { id } }
}

export const peopleExamples: Example[] = [
  { operation: listProfiles, good: () => ({ query: { visitorId: 'v' } }) },
  { operation: getProfile, good: person },
  { operation: getProfileTimeline, good: person },
  { operation: exportProfile, good: person },
  { operation: eraseProfile, good: person },
  { operation: listErasures, good: () => ({}) },
  { operation: getErasureCertificate, good: erased },
  { operation: getErasureKey, good: () => ({}), goesOn: true },
  {
    operation: getStats,
    good: () => ({ query: { metric: 'events', groupBy: 'name' } }),
    others: { 422: () => ({ query: { metric: 'events', interval: 'hour', from: '2020-01-01T00:00:00Z' } }) },
    goesOn: true,
  },
  { operation: getPipelineStats, good: () => ({}) },
  { operation: getDeliveryStats, good: () => ({}) },
]
