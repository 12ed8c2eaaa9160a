import { startStandalone } from '@waymark/testing'
import { describe } from 'vitest'
import { describePowerCut } from './power-cut.ts'
import { describeWhole } from './whole.ts'

describe('Waymark in one process on embedded parts', () => {
  describeWhole(startStandalone, 'standalone')
  describePowerCut(startStandalone, ['standalone'])
})
