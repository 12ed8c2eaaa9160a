import { type Log, type OsUser, run } from './processes.ts'

const creations: [command: string, ...args: string[]][] = [
  [
    'useradd',
    '--system',
    '--no-create-home',
    '--home-dir',
    '/nonexistent',
    '--shell',
    '/bin/false',
    'postgres',
  ],
  ['adduser', '-S', '-D', '-H', '-h', '/nonexistent', '-s', '/bin/false', 'postgres'], // busybox
]

// `id` also knows users that are not in /etc/passwd (macOS, LDAP); a negative uid (macOS' nobody) comes unsigned.
const lookUp = async (name: string): Promise<OsUser | undefined> => {
  const [uid, gid] = await Promise.all([run('id', ['-u', name]), run('id', ['-g', name])])
  return uid.ok && gid.ok ? { name, uid: Number(uid.stdout) | 0, gid: Number(gid.stdout) | 0 } : undefined
}

/** The user with this uid, or undefined when none has it (initdb refuses to run as a user without a name). */
export const userOf = async (uid: number, gid: number): Promise<OsUser | undefined> => {
  const name = await run('id', ['-un'], { name: String(uid), uid, gid })
  return name.ok ? lookUp(name.stdout.trim()) : undefined
}

const findOrCreate = async (log: Log): Promise<OsUser | undefined> => {
  const existing = await lookUp('postgres')
  if (existing) return existing
  for (const [command, ...args] of creations) {
    await run(command, args)
    const created = await lookUp('postgres')
    if (!created) continue
    log('created the system user "postgres", because PostgreSQL refuses to run as root')
    return created
  }
  return lookUp('nobody')
}

/**
 * Whether this user can enter the directory. Tests the access, because the mode does not show ACLs and capabilities.
 */
export const canEnter = async (user: OsUser, directory: string): Promise<boolean> =>
  (await run('/bin/sh', ['-c', 'test -x "$1"', 'sh', directory], user)).ok

/**
 * The unprivileged user that runs PostgreSQL for root: `postgres`, created when missing, else `nobody`.
 * @throws Error when neither exists, or when this process may not change its user
 */
export const systemUser = async (log: Log): Promise<OsUser> => {
  const user = await findOrCreate(log)
  if (user && (await canEnter(user, '/'))) return user
  const problem = user ? `may not start it as user ${user.name}` : 'could not create a user "postgres" for it'
  throw new Error(`PostgreSQL refuses to run as root, and this process ${problem}: start as an ordinary user`)
}
