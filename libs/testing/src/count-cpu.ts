import { afterAll } from 'vitest'
import { count, usedCpuMs } from './run-counts.ts'

// Vitest loads this before each test file. Without isolation, a process runs several files.
declare global {
  var countedCpuMs: number | undefined
}

afterAll(() => {
  const used = usedCpuMs()
  count('cpuMs', used - (globalThis.countedCpuMs ?? 0))
  globalThis.countedCpuMs = used
})
