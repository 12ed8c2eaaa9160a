import type { RunQuery } from './run-queries.ts'

/** Runs work with what stands for a request that ends with the process. */
export const untilStopped = async <T>(
  signal: AbortSignal,
  work: (request: Parameters<RunQuery>[0]['request']) => Promise<T>,
): Promise<T> => {
  const stop = new AbortController()
  const abort = () => stop.abort()
  signal.addEventListener('abort', abort)
  try {
    return await work({
      onEnd: (listener) => stop.signal.addEventListener('abort', () => listener(undefined)),
    })
  } finally {
    signal.removeEventListener('abort', abort)
  }
}
