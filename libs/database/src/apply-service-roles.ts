import { createHash, createHmac, pbkdf2Sync, randomBytes } from 'node:crypto'
import { type ClientBase, escapeIdentifier, escapeLiteral, type Pool } from 'pg'
import {
  type ServiceGrants,
  type ServiceName,
  serviceGrants,
  serviceNames,
  serviceRole,
} from './service-roles.ts'
import { withTransaction } from './transaction.ts'

const LOCK = `SELECT pg_advisory_xact_lock(hashtextextended('waymark:service-roles', 0))`
const EXISTING = 'SELECT rolname AS name FROM pg_roles WHERE rolname = ANY($1::text[])'
const SCHEMAS = `
  SELECT nspname AS name, format('%I', current_database()) AS database FROM pg_namespace
  WHERE nspname IN ('public', 'bus', 'core', 'coupon', 'decision', 'email', 'ingest', 'link', 'partitions', 'webhook')`

/** The default of PostgreSQL. */
const SCRAM_ITERATIONS = 4_096

export type ServiceRolesOptions = {
  /** Prefix of each role name, because all databases of a server share their roles. */
  prefix: string
  /** The passwords to set. A role without one is not created, but gets its grants if it exists. */
  passwords: Readonly<Partial<Record<ServiceName, string>>>
}

/**
 * Creates or updates the role of each service with a password, and gives every existing service role exactly the
 * privileges in `serviceGrants`; others are revoked in the same transaction. Idempotent. Creating a role or changing a
 * password requires CREATEROLE.
 * @returns the names of the existing roles
 */
export const applyServiceRoles = (
  pool: Pool,
  { prefix, passwords }: ServiceRolesOptions,
): Promise<string[]> =>
  withTransaction(pool, async (client) => {
    await client.query(LOCK)
    const roles = serviceNames.map((service) => ({ service, name: serviceRole(service, prefix) }))
    const { rows } = await client.query<{ name: string }>(EXISTING, [roles.map(({ name }) => name)])
    const existing = new Set(rows.map(({ name }) => name))
    for (const { service, name } of roles) {
      const password = passwords[service]
      if (password === undefined) continue
      await setPassword(client, name, password, existing.has(name))
      existing.add(name)
    }
    const present = roles.filter(({ name }) => existing.has(name))
    if (present.length === 0) return []
    const { rows: schemas } = await client.query<{ name: string; database: string }>(SCHEMAS)
    // Databases created before PostgreSQL 15 allow everyone to create tables in it.
    await client.query('REVOKE CREATE ON SCHEMA public FROM PUBLIC')
    for (const { service, name } of present) await client.query(grantStatements(name, service, schemas))
    return present.map(({ name }) => name)
  })

const setPassword = async (
  client: ClientBase,
  role: string,
  password: string,
  exists: boolean,
): Promise<void> => {
  const verb = exists ? 'ALTER ROLE' : 'CREATE ROLE'
  await client.query(
    `${verb} ${escapeIdentifier(role)} WITH LOGIN PASSWORD ${escapeLiteral(scramVerifier(password))}`,
  )
}

/**
 * The SCRAM-SHA-256 verifier of a password. It is sent instead of the password, which so does not get into logs of the
 * server. The password must be printable ASCII, because PostgreSQL normalizes others.
 */
export const scramVerifier = (password: string, salt: Buffer = randomBytes(16)): string => {
  const salted = pbkdf2Sync(password, salt, SCRAM_ITERATIONS, 32, 'sha256')
  const keyOf = (name: string) => createHmac('sha256', salted).update(name).digest()
  const storedKey = createHash('sha256').update(keyOf('Client Key')).digest('base64')
  const serverKey = keyOf('Server Key').toString('base64')
  return `SCRAM-SHA-256$${SCRAM_ITERATIONS}:${salt.toString('base64')}$${storedKey}:${serverKey}`
}

const grantStatements = (
  name: string,
  service: ServiceName,
  schemas: readonly { name: string; database: string }[],
): string => {
  const { tables, functions }: ServiceGrants = serviceGrants[service]
  const role = escapeIdentifier(name)
  const database = schemas[0]?.database
  const schemaList = schemas.map((schema) => escapeIdentifier(schema.name)).join(', ')
  const used = new Set([...Object.keys(tables), ...functions].map((object) => object.split('.')[0]))
  return [
    `REVOKE ALL ON DATABASE ${database} FROM ${role}`,
    `REVOKE ALL ON SCHEMA ${schemaList} FROM ${role}`,
    `REVOKE ALL ON ALL TABLES IN SCHEMA ${schemaList} FROM ${role}`,
    `REVOKE ALL ON ALL SEQUENCES IN SCHEMA ${schemaList} FROM ${role}`,
    `REVOKE ALL ON ALL FUNCTIONS IN SCHEMA ${schemaList} FROM ${role}`,
    `GRANT CONNECT ON DATABASE ${database} TO ${role}`,
    ...[...used].map((schema) => `GRANT USAGE ON SCHEMA ${schema} TO ${role}`),
    ...Object.entries(tables).map(([table, privileges]) => `GRANT ${privileges} ON ${table} TO ${role}`),
    ...functions.map((signature) => `GRANT EXECUTE ON FUNCTION ${signature} TO ${role}`),
  ].join(';\n')
}
