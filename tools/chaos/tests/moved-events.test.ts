import { extent, services } from '@waymark/testing'
import { afterAll, beforeAll, describe, it } from 'vitest'
import { expectStoredOnce } from './audit.ts'
import { createEarlierEvents } from './earlier-events.ts'
import { createFleet, type Fleet } from './fleet.ts'
import { startLoad } from './load.ts'

describe.skipIf(!services)('events of an earlier version', () => {
  let fleet: Fleet
  beforeAll(async () => {
    fleet = await createFleet()
  })
  afterAll(() => fleet?.stop())

  it('are moved once under load, also when the process that moves them is killed', async () => {
    const earlier = await createEarlierEvents(fleet, extent(20_000, 200_000))
    await earlier.store()
    const { gateway, persistence } = await fleet.startPipeline()
    const { stop } = startLoad({ name: 'beside', send: gateway.request, pauseMs: 100 })
    await earlier.repeat(gateway.request)
    await earlier.untilCopied()
    await persistence.kill()
    await persistence.restart()
    await earlier.expectMoved()
    await expectStoredOnce(fleet, await stop(), 'events beside those of an earlier version')
  }, 900_000)
})
