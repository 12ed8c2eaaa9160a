import { randomBytes } from 'node:crypto'
import { applyServiceRoles, createPool, type ServiceName, serviceNames, serviceRole } from '@waymark/database'
import { execute } from './template-database.ts'

/** The roles of services in a test's database. They belong to the server, so each test has its own. */
export type TestRoles = {
  /** The address of the database for a service. */
  urlFor(service: ServiceName): string
  /** Removes the roles after the database was dropped. */
  drop(): Promise<void>
}

/** Creates a role for each service, with the grants that deployments have. */
export const createTestRoles = async (databaseUrl: string, serverUrl: string): Promise<TestRoles> => {
  const prefix = `test_${randomBytes(5).toString('hex')}_`
  const password = randomBytes(12).toString('hex')
  const owner = createPool({ url: databaseUrl, max: 1, applicationName: 'test', onError: () => {} })
  const passwords = Object.fromEntries(serviceNames.map((service) => [service, password]))
  await applyServiceRoles(owner, { prefix, passwords }).finally(() => owner.end())
  return {
    urlFor: (service) =>
      Object.assign(new URL(databaseUrl), { username: serviceRole(service, prefix), password }).href,
    drop: () =>
      execute(
        serverUrl,
        `DROP ROLE ${serviceNames.map((service) => serviceRole(service, prefix)).join(', ')}`,
      ),
  }
}
