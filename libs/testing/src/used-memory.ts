import { setFlagsFromString } from 'node:v8'
import { runInNewContext } from 'node:vm'

setFlagsFromString('--expose-gc')
/** Removes what nothing refers to. */
export const collectGarbage = runInNewContext('gc') as () => void

/** Bytes of memory that this process uses, without garbage: the objects and buffers that something still refers to. */
export const usedMemory = (): number => {
  collectGarbage()
  const { heapUsed, external } = process.memoryUsage()
  return heapUsed + external
}
