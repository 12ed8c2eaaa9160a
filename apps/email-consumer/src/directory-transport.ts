import { mkdir, rename, rm, writeFile } from 'node:fs/promises'
import path from 'node:path'
import type { MailTransport } from './transport.ts'

/**
 * Writes each message to `<delivery id>.eml` in a directory. A repeated write gives the same file, and a crash leaves a
 * complete file or none.
 */
export const createDirectoryTransport = (directory: string): Required<MailTransport> => ({
  send: async ({ id, raw }) => {
    await mkdir(directory, { recursive: true })
    const file = path.join(directory, `${id}.eml`)
    await writeFile(`${file}.new`, raw, { mode: 0o600, flush: true })
    await rename(`${file}.new`, file)
    return { kind: 'accepted', response: `${id}.eml` }
  },
  deleteCopies: async (deliveryIds) => {
    const names = deliveryIds.flatMap((id) => [`${id}.eml`, `${id}.eml.new`])
    for (const name of names) await rm(path.join(directory, name), { force: true })
  },
  close: async () => {},
})
