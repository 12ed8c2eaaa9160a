import { rm } from 'node:fs/promises'
import path from 'node:path'
import { writeFileAtomically } from '@waymark/service-kit'
import type { MailTransport } from './transport.ts'

/**
 * Writes each message to `<delivery id>.eml` in a directory. A repeated write gives the same file, and a crash leaves a
 * complete file or none.
 */
export const createDirectoryTransport = (directory: string): Required<MailTransport> => ({
  send: async ({ id, raw }) => {
    await writeFileAtomically(path.join(directory, `${id}.eml`), raw)
    return { kind: 'accepted', response: `${id}.eml` }
  },
  deleteCopies: async (deliveryIds) => {
    const names = deliveryIds.flatMap((id) => [`${id}.eml`, `${id}.eml.new`])
    for (const name of names) await rm(path.join(directory, name), { force: true })
  },
  close: async () => {},
})
