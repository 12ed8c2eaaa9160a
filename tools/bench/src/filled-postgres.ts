import { type Database, migrate, openDatabase } from '@waymark/database'
import { ensureDemoProject } from '@waymark/project-config'
import { startPostgres } from '@waymark/testing/servers'
import type { StartedTestContainer } from 'testcontainers'
import { addressOf } from './container-address.ts'
import { pinContainers } from './cores.ts'
import { fillStores, type Stored } from './fill-stores.ts'

/** A copy of the filled database for one benchmark. */
export type Copy = {
  url: string
  /** Its name on the server. */
  name: string
  /** With a pool of a few connections. */
  db: Database
  drop: () => Promise<void>
}

/** A PostgreSQL server, filled once with a project and its data. */
export type FilledPostgres = {
  container: StartedTestContainer
  apiKey: string
  projectId: string
  copy: () => Promise<Copy>
  stop: () => Promise<void>
}

const FILLED = 'filled'

/** Starts and fills a server. That takes about a minute for each million events. */
export const startFilledPostgres = async (stored: Stored): Promise<FilledPostgres> => {
  process.env.TESTCONTAINERS_RYUK_DISABLED ??= 'true'
  const { container, url } = await startPostgres()
  const direct = { host: addressOf(container, 5432) }
  const urlOf = (name: string): string => Object.assign(new URL(url), { ...direct, pathname: name }).href
  // Inserting and copying millions of rows takes longer than the timeout of services.
  const open = (name: string): Database =>
    openDatabase({
      url: urlOf(name),
      applicationName: 'bench',
      onError: () => {},
      poolSize: 4,
      statementTimeoutMs: 0,
    })
  const server = open('postgres')
  const stop = async (): Promise<void> => {
    await server.close()
    await container.stop({ timeout: 0 })
  }
  const fill = async () => {
    pinContainers([container.getId()])
    await server.pool.query(`CREATE DATABASE ${FILLED}`)
    await migrate(urlOf(FILLED))
    const filled = open(FILLED)
    const demo = await ensureDemoProject(filled)
    // The limits of the deployment, which the benchmark raises, also apply here.
    await filled.prisma.apiKey.updateMany({
      where: { projectId: demo.projectId },
      data: { requestsPerMinute: null },
    })
    await fillStores(filled, demo.projectId, stored)
    // A database with open connections cannot be copied.
    await filled.close()
    return demo
  }
  const { apiKey, projectId } = await fill().catch(async (error) => {
    await stop()
    throw error
  })

  let copies = 0
  const copy = async (): Promise<Copy> => {
    const name = `copy_${++copies}`
    await server.pool.query(`CREATE DATABASE ${name} TEMPLATE ${FILLED}`)
    const db = open(name)
    const drop = async (): Promise<void> => {
      await db.close()
      await server.pool.query(`DROP DATABASE ${name} WITH (FORCE)`)
    }
    return { url: urlOf(name), name, db, drop }
  }
  return { container, apiKey, projectId, copy, stop }
}
