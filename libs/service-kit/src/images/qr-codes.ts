import path from 'node:path'
import { AppError } from '@waymark/contracts/app-error'
import { createProjectWorkers, WorkerLimitError } from '../workers/project-workers.ts'
import type { QrTask } from './qr-worker.ts'

/** Draws QR codes in worker threads, because a large image takes some 200 ms. */
export type QrCodes = {
  /**
   * Draws the QR code of a text as a PNG of `size` by `size` pixels.
   * @throws AppError rate_limited or overloaded when too many are waiting, or when one takes too long
   */
  png(projectId: string, text: string, size: number): Promise<Buffer>
  close(): Promise<void>
}

type QrCodesOptions = { deadlineMs?: number; onError?: (error: Error) => void }

const DEADLINE_MS = 10_000
const RETRY_AFTER_S = 2

/** Creates the renderer. Its threads start with the first image. */
export const createQrCodes = ({ deadlineMs = DEADLINE_MS, onError }: QrCodesOptions = {}): QrCodes => {
  const filename = path.join(import.meta.dirname, 'qr-worker.ts')
  const workers = createProjectWorkers<QrTask, Uint8Array>({
    filename,
    deadlineMs,
    what: 'QR codes',
    onError,
  })
  return {
    png: async (projectId, text, size) => {
      try {
        return Buffer.from(await workers.run(projectId, { text, size }))
      } catch (error) {
        if (!(error instanceof WorkerLimitError)) throw error
        throw new AppError(
          'overloaded',
          `The QR code took longer than ${deadlineMs} ms; ask for a smaller size or for format=svg`,
          { retryAfterSeconds: RETRY_AFTER_S },
          { cause: error },
        )
      }
    },
    close: workers.close,
  }
}
