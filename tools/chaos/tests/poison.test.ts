import { setTimeout as sleep } from 'node:timers/promises'
import { extent, services } from '@waymark/testing'
import { afterAll, beforeAll, describe, it } from 'vitest'
import { expectStoredOnce } from './audit.ts'
import { createFleet, type Fleet, type Replica } from './fleet.ts'
import { startLoad } from './load.ts'
import { writePoison } from './poison.ts'

const PARTITIONS = 3
const ROUNDS = extent(1, 5)

describe.skipIf(!services)('invalid records in every topic', () => {
  let fleet: Fleet
  let gateway: Replica
  beforeAll(async () => {
    fleet = await createFleet(undefined, {
      KAFKA_PARTITIONS: `${PARTITIONS}`,
      // The dead letter itself must fit.
      KAFKA_COMPRESSION: 'none',
    })
    gateway = (await fleet.startPipeline()).gateway
    await Promise.all([fleet.start('email-consumer'), fleet.start('webhook-dispatcher')])
  })
  afterAll(() => fleet?.stop())

  it('goes to the dead letters with the reason, and blocks nothing', async () => {
    const { stop } = startLoad({ name: 'poisoned', send: gateway.request })
    const expectations: (() => Promise<void>)[] = []
    for (let round = 0; round < ROUNDS; round++)
      expectations.push(await writePoison(fleet, { partitions: PARTITIONS }))
    await sleep(1_000)
    await expectStoredOnce(fleet, await stop(), 'poison in front of it')
    for (const expectDeadLetters of expectations) await expectDeadLetters()
  }, 300_000)
})
