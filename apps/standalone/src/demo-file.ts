import { readFile } from 'node:fs/promises'
import { compileValidator } from '@waymark/contracts/validator'
import { ensureDemoProject } from '@waymark/project-config'
import { type Platform, writeFileAtomically } from '@waymark/service-kit'
import { type Static, Type } from 'typebox'

/** The content of `demo.json`: the address of the server and the credentials of the demo project. */
const DemoFile = Type.Object({
  baseUrl: Type.String(),
  apiKey: Type.String(),
  publicKey: Type.String(),
  projectId: Type.String(),
  email: Type.String(),
  password: Type.String(),
})
type DemoFile = Static<typeof DemoFile>

const demoFile = compileValidator(DemoFile)

/** The demo project's credentials; `isNew` when they have just been created. */
export type Demo = DemoFile & { isNew: boolean }

/**
 * Keeps the credentials of the demo project in `file`. The first start creates the project. If the file is missing or its
 * keys are not valid, the project gets new keys and a new password, because only hashes are stored.
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

const write = (
  file: string,
  { baseUrl, apiKey, publicKey, projectId, email, password }: DemoFile,
): Promise<void> => {
  const fields = { baseUrl, apiKey, publicKey, projectId, email, password }
  return writeFileAtomically(file, `${JSON.stringify(fields, null, 2)}\n`)
}
