import { startStandalone } from '@waymark/testing'
import { describe } from 'vitest'
import { describeMainJob } from './main-job.ts'
import { describePowerCut } from './power-cut.ts'

describe('Waymark in one process on embedded parts', () => {
  describeMainJob(startStandalone)
  describePowerCut(startStandalone, ['standalone'])
})
