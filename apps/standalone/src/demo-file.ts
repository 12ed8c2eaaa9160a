import { mkdir, readFile, rename, writeFile } from 'node:fs/promises'
import path from 'node:path'
import { compileValidator } from '@waymark/contracts'
import { ensureDemoProject } from '@waymark/pipeline'
import type { Platform } from '@waymark/service-kit'
import { type Static, Type } from 'typebox'

/** What `demo.json` holds: where the server answers, and how to get into the demo project. */
const DemoFile = Type.Object({
  baseUrl: Type.String(),
  apiKey: Type.String(),
  publicKey: Type.String(),
  projectId: Type.String(),
  email: Type.String(),
  password: Type.String(),
})
export type DemoFile = Static<typeof DemoFile>

const demoFile = compileValidator(DemoFile)

/** How to get into the demo project, and whether nobody has been told its key before. */
export type Demo = DemoFile & { isNew: boolean }

/**
 * Sees to it that `file` tells how to reach the demo project, which is made at the first start. Without a
 * file whose keys are valid the demo project gets new keys and a new password, since the old ones cannot be recovered.
 */
export const keepDemoFile = async (
  file: string,
  baseUrl: string,
  { db, apiKeys }: Pick<Platform, 'db' | 'apiKeys'>,
): Promise<Demo> => {
  const found = await read(file)
  // The file may have outlived the database that its key belongs to.
  const valid =
    found && (await apiKeys.authenticate(found.apiKey)) && (await apiKeys.authenticate(found.publicKey))
  const known = valid ? found : undefined
  const demo = { ...(known ?? (await ensureDemoProject(db))), baseUrl }
  if (known?.baseUrl !== baseUrl) await write(file, demo)
  return { ...demo, isNew: known === undefined }
}

const read = async (file: string): Promise<DemoFile | undefined> => {
  try {
    const value: unknown = JSON.parse(await readFile(file, 'utf8'))
    return demoFile.fits(value) ? value : undefined
  } catch {
    return undefined
  }
}

// By renaming, so that a crash leaves the old file or the new one, never half of one.
const write = async (
  file: string,
  { baseUrl, apiKey, publicKey, projectId, email, password }: DemoFile,
): Promise<void> => {
  await mkdir(path.dirname(file), { recursive: true })
  const text = `${JSON.stringify({ baseUrl, apiKey, publicKey, projectId, email, password }, null, 2)}\n`
  await writeFile(`${file}.new`, text, { mode: 0o600 })
  await rename(`${file}.new`, file)
}
