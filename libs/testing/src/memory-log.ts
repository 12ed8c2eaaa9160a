import type { Log } from '@waymark/contracts/log'

/** A logger that keeps its lines for assertions. */
export const createMemoryLog = (): Log & { lines: { level: string; message: string; details: object }[] } => {
  const lines: { level: string; message: string; details: object }[] = []
  const write = (level: string) => (details: object, message: string) =>
    void lines.push({ level, message, details })
  return { lines, debug: write('debug'), info: write('info'), warn: write('warn'), error: write('error') }
}
