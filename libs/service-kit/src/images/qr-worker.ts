import { toBuffer } from 'qrcode'
import type { StartedTask } from '../workers/project-workers.ts'

/** A text, and the width and height of its QR code in pixels. */
export type QrTask = { text: string; size: number }

/** The margin that ISO/IEC 18004 requires. */
const QUIET_ZONE_MODULES = 4

/** Entry point of the worker thread. */
export default async ({ task: { text, size }, started }: StartedTask<QrTask>): Promise<Uint8Array> => {
  started.postMessage('started')
  return toBuffer(text, { width: size, margin: QUIET_ZONE_MODULES, errorCorrectionLevel: 'M' })
}
