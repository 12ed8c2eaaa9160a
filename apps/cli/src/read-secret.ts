import { createInterface } from 'node:readline/promises'
import { Writable } from 'node:stream'
import type { Io } from './context.ts'

/** Reads a secret: from the terminal, where it is not shown, or else all of standard input. */
export const readSecret = async (io: Io, prompt: string): Promise<string> => {
  if (!io.isTerminal) return io.readStdin()
  io.stderr.write(prompt)
  const hidden = new Writable({ write: (_chunk, _encoding, done) => done() })
  const reader = createInterface({ input: process.stdin, output: hidden, terminal: true })
  try {
    return await reader.question('', { signal: io.signal })
  } finally {
    reader.close()
    io.stderr.write('\n')
  }
}
