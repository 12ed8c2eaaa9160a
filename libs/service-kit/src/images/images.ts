import path from 'node:path'
import { AppError } from '@waymark/contracts/app-error'
import { createProjectWorkers, WorkerLimitError } from '../workers/project-workers.ts'
import type { Bars } from './draw-bars.ts'
import type { ImageTask } from './image-worker.ts'

/** Draws images in worker threads, because a large one takes some 200 ms. */
export type Images = {
  /**
   * Draws the QR code of a text as a PNG of `size` by `size` pixels.
   * @throws AppError rate_limited or overloaded when too many are waiting, or when one takes too long
   */
  qrCode(projectId: string, text: string, size: number): Promise<Buffer>
  /**
   * Draws bars as a PNG. It waits for its turn as long as it takes.
   * @throws AppError overloaded when it takes too long to draw
   */
  bars(projectId: string, bars: Bars): Promise<Buffer>
  close(): Promise<void>
}

type ImagesOptions = { deadlineMs?: number; onError?: (error: Error) => void }

const DEADLINE_MS = 10_000
const RETRY_AFTER_S = 2

/** Creates the renderer. Its threads start with the first image. */
export const createImages = ({ deadlineMs = DEADLINE_MS, onError }: ImagesOptions = {}): Images => {
  const filename = path.join(import.meta.dirname, 'image-worker.ts')
  const workers = createProjectWorkers<ImageTask, Uint8Array>({
    filename,
    deadlineMs,
    what: 'images',
    onError,
  })
  const draw = async (projectId: string, task: ImageTask, options: { patient: boolean }, advice: string) => {
    try {
      return Buffer.from(await workers.run(projectId, task, options))
    } catch (error) {
      if (!(error instanceof WorkerLimitError)) throw error
      throw new AppError(
        'overloaded',
        `The image took longer than ${deadlineMs} ms; ${advice}`,
        { retryAfterSeconds: RETRY_AFTER_S },
        { cause: error },
      )
    }
  }
  return {
    qrCode: (projectId, text, size) =>
      draw(
        projectId,
        { qrCode: { text, size } },
        { patient: false },
        'ask for a smaller size or for format=svg',
      ),
    bars: (projectId, bars) => draw(projectId, { bars }, { patient: true }, 'repeat it later'),
    close: workers.close,
  }
}
