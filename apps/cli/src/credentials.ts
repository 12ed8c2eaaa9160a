import { chmod, mkdir, readFile, rm, writeFile } from 'node:fs/promises'
import path from 'node:path'
import { CliError } from './exit-codes.ts'

/** What `waymark login` keeps. */
export type Credentials = { url: string; token: string; project?: string }
export type Env = Readonly<Record<string, string | undefined>>

/** The file of the credentials: below `XDG_CONFIG_HOME`, or `.config` of the home directory. */
export const credentialsFile = (env: Env): string => {
  const folder = env.XDG_CONFIG_HOME || (env.HOME && path.join(env.HOME, '.config')) || env.APPDATA
  if (!folder)
    throw new CliError('Set HOME or XDG_CONFIG_HOME, where the token is kept, or set WAYMARK_TOKEN')
  return path.join(folder, 'waymark', 'credentials.json')
}

/** The kept credentials, if there are any. */
export const readCredentials = async (env: Env): Promise<Partial<Credentials>> => {
  try {
    return JSON.parse(await readFile(credentialsFile(env), 'utf8')) as Partial<Credentials>
  } catch {
    return {}
  }
}

/** Keeps credentials in a file that only its owner can read. */
export const writeCredentials = async (env: Env, credentials: Credentials): Promise<string> => {
  const file = credentialsFile(env)
  await mkdir(path.dirname(file), { recursive: true, mode: 0o700 })
  await writeFile(file, `${JSON.stringify(credentials, null, 2)}\n`, { mode: 0o600 })
  // A file that exists keeps its mode.
  await chmod(file, 0o600)
  return file
}

/** Removes the credentials. */
export const removeCredentials = (env: Env): Promise<void> => rm(credentialsFile(env), { force: true })
