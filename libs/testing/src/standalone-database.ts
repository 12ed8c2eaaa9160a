import { execFile } from 'node:child_process'
import { createHash, randomUUID } from 'node:crypto'
import { existsSync, globSync, readFileSync } from 'node:fs'
import { chmod, mkdir, mkdtemp, readdir, rename, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import path from 'node:path'
import { promisify } from 'node:util'
import { migrate, startEmbeddedPostgres } from '@waymark/database'

const run = promisify(execFile)
const DATABASE = path.resolve(import.meta.dirname, '../../database')
const CACHE = path.resolve(import.meta.dirname, '../../../node_modules/.cache/standalone-database')
/** What a migrated cluster depends on. */
const SOURCES = ['package.json', 'prisma/migrations/**/*.sql', 'src/embedded-postgres/*.ts']

/** Identifies a template. PostgreSQL starts only with files of the user who runs it. */
const hashSources = (): string => {
  const hash = createHash('sha256').update(`${process.getuid?.()}`)
  for (const file of globSync(SOURCES, { cwd: DATABASE }).sort())
    hash
      .update(file)
      .update('\0')
      .update(readFileSync(path.join(DATABASE, file)))
  return hash.digest('hex').slice(0, 16)
}

/** Copies a stopped cluster with the owner of its files, which `fs.cp` does not keep. */
const copyCluster = (from: string, to: string) => run('cp', ['-Rp', path.join(from, '.'), to])

const createTemplate = async (template: string): Promise<void> => {
  const folder = await mkdtemp(path.join(tmpdir(), 'waymark-template-'))
  // As root, the database runs as another user, who must be able to enter the directory.
  await chmod(folder, 0o755)
  const unfinished = `${template}.${randomUUID()}`
  try {
    const dataDir = path.join(folder, 'postgres')
    const postgres = await startEmbeddedPostgres({ dataDir, log: () => {} })
    await migrate(postgres.url).finally(() => postgres.stop())
    await mkdir(CACHE, { recursive: true })
    // Templates of other migrations; those of another user cannot be removed.
    for (const name of await readdir(CACHE))
      if (!name.startsWith(path.basename(template)))
        await rm(path.join(CACHE, name), { recursive: true, force: true }).catch(() => {})
    await copyCluster(dataDir, unfinished)
    await rename(unfinished, template).catch((error: NodeJS.ErrnoException) => {
      // Another process was faster.
      if (error.code !== 'ENOTEMPTY' && error.code !== 'EEXIST') throw error
    })
  } finally {
    await rm(unfinished, { recursive: true, force: true })
    await rm(folder, { recursive: true, force: true })
  }
}

/**
 * Creates the migrated, empty database of a standalone in the folder `dataDir`, which does not exist. It is a copy,
 * because creating a cluster and applying all migrations takes longer than the rest of a start.
 */
export const copyStandaloneDatabase = async (dataDir: string): Promise<void> => {
  const template = path.join(CACHE, hashSources())
  if (!existsSync(template)) await createTemplate(template)
  await copyCluster(template, dataDir)
}
