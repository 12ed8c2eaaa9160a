import { toBuffer } from 'qrcode'
import type { StartedTask } from '../workers/project-workers.ts'
import { type Bars, drawBars } from './draw-bars.ts'

/** A text, and the width and height of its QR code in pixels. */
type QrCode = { text: string; size: number }
/** The image to draw. */
export type ImageTask = { qrCode: QrCode } | { bars: Bars }

/** The margin that ISO/IEC 18004 requires. */
const QUIET_ZONE_MODULES = 4

/** Entry point of the worker thread. */
export default async ({ task, started }: StartedTask<ImageTask>): Promise<Uint8Array> => {
  started.postMessage('started')
  if ('bars' in task) return drawBars(task.bars)
  const { text, size } = task.qrCode
  return toBuffer(text, { width: size, margin: QUIET_ZONE_MODULES, errorCorrectionLevel: 'M' })
}
