import { classifyStoreError } from '@waymark/database'
import { createMemoryLog } from '@waymark/testing'

export const busDeps = () => ({ log: createMemoryLog(), classifyError: classifyStoreError })
