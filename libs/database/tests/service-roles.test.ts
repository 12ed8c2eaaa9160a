import { randomBytes, randomUUID } from 'node:crypto'
import { createTestDatabase, services, type TestDatabase } from '@waymark/testing'
import type { Pool } from 'pg'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { applyServiceRoles } from '../src/apply-service-roles.ts'
import { requireMigrated } from '../src/migrate.ts'
import { MigrationsPendingError } from '../src/migration-error.ts'
import { createPool } from '../src/pool.ts'
import { type ServiceName, serviceGrants, serviceNames, serviceRole } from '../src/service-roles.ts'

const REFUSED = { code: '42501' }

describe.skipIf(!services)('the database roles of services', () => {
  // Roles belong to the server, which other tests use at the same time.
  const prefix = `test_${randomBytes(5).toString('hex')}_`
  const passwords = Object.fromEntries(serviceNames.map((service) => [service, `password of ${service}`]))
  const pools = new Map<ServiceName, Pool>()
  let database: TestDatabase
  let owner: Pool

  const open = (url: string): Pool => createPool({ url, max: 2, applicationName: 'test', onError: () => {} })
  const urlFor = (service: ServiceName, password = `password of ${service}`): string => {
    const url = new URL(database.url)
    url.username = serviceRole(service, prefix)
    url.password = encodeURIComponent(password)
    return url.href
  }
  const as = (service: ServiceName): Pool => {
    const pool = pools.get(service) ?? open(urlFor(service))
    pools.set(service, pool)
    return pool
  }

  beforeAll(async () => {
    database = await createTestDatabase()
    owner = open(database.url)
    await applyServiceRoles(owner, { prefix, passwords })
  })

  afterAll(async () => {
    for (const pool of pools.values()) await pool.end()
    for (const service of serviceNames)
      await owner.query(
        `DROP OWNED BY ${serviceRole(service, prefix)}; DROP ROLE ${serviceRole(service, prefix)}`,
      )
    await owner.end()
    await database.drop()
  })

  it.each(serviceNames)(
    'allow %s to read what it needs, including the applied migrations',
    async (service) => {
      await requireMigrated(as(service), service)
      for (const [table, privileges] of Object.entries<string>(serviceGrants[service].tables))
        if (/SELECT(?! \()/.test(privileges)) await as(service).query(`SELECT * FROM ${table} LIMIT 0`)
    },
  )

  it('are waited for until the setup has granted what a version needs', async () => {
    const [service, role] = ['link-redirector' as const, serviceRole('link-redirector', prefix)]
    for (const [revoked, missing] of [
      [`INSERT ON link.visitor_salts FROM ${role}`, /setup first: INSERT on link\.visitor_salts$/],
      [`SELECT (asset_links) ON link.domains FROM ${role}`, /setup first: SELECT on link\.domains$/],
      [`USAGE ON SCHEMA link FROM ${role}`, /SELECT on link\.links/],
    ] as const) {
      await owner.query(`REVOKE ${revoked}`)
      await expect(requireMigrated(as(service), service)).rejects.toThrow(missing)
      await expect(requireMigrated(as(service), service)).rejects.toThrow(MigrationsPendingError)
      await applyServiceRoles(owner, { prefix, passwords })
      await requireMigrated(as(service), service)
    }
  })

  it('lose what they were granted by hand, in every schema', async () => {
    const role = serviceRole('link-redirector', prefix)
    const schemas = new Set(
      serviceNames.flatMap((service) =>
        Object.keys(serviceGrants[service].tables).map((t) => t.split('.')[0]),
      ),
    )
    for (const schema of schemas) await owner.query(`GRANT CREATE ON SCHEMA ${schema} TO ${role}`)
    await applyServiceRoles(owner, { prefix, passwords })
    const { rows } = await owner.query(
      `SELECT nspname FROM pg_namespace WHERE nspname = ANY($1) AND has_schema_privilege($2, oid, 'CREATE')`,
      [[...schemas], role],
    )
    expect(rows).toEqual([])
  })

  it.each(serviceNames)('allow %s to change only rows', async (service) => {
    const statements = [
      'CREATE TABLE public.mine (id int)',
      'CREATE TABLE ingest.mine (id int)',
      'CREATE TABLE partitions.events_2030_01 (LIKE ingest.events)',
      'CREATE SCHEMA mine',
      'DROP TABLE core.config_changes',
      'ALTER TABLE core.config_changes ADD COLUMN more int',
      'TRUNCATE core.config_changes',
      'CREATE ROLE mine',
      'INSERT INTO public._prisma_migrations (id, checksum, migration_name) VALUES (1, 1, 1)',
    ]
    for (const statement of statements)
      await expect(as(service).query(statement), statement).rejects.toMatchObject(REFUSED)
  })

  it.each(serviceNames.filter((service) => service !== 'management-api'))(
    'hide accounts and sessions from %s',
    async (service) => {
      for (const table of [
        'users',
        'sessions',
        'access_tokens',
        'second_factors',
        'recovery_codes',
        'sign_in_challenges',
        'project_members',
        'invitations',
        'audit_log',
      ])
        await expect(as(service).query(`SELECT FROM core.${table}`), table).rejects.toMatchObject(REFUSED)
      const queueMail = `INSERT INTO email.account_mails (id, kind, recipient) VALUES (gen_random_uuid(), 'verify_email', 'a@b')`
      await expect(as(service).query(queueMail)).rejects.toMatchObject(REFUSED)
      await expect(as(service).query('SELECT email FROM core.users')).rejects.toMatchObject(REFUSED)
    },
  )

  it.each<[ServiceName, string, string]>([
    ['link-redirector', 'read API keys', 'SELECT secret_hash FROM core.api_keys'],
    ['link-redirector', 'change links', "UPDATE link.links SET destination = 'x'"],
    ['link-redirector', 'read the tokens of domains', 'SELECT token FROM link.domains'],
    ['link-redirector', 'read clicks', 'SELECT ip FROM link.clicks'],
    ['enrichment-consumer', 'read API keys', 'SELECT secret_hash FROM core.api_keys'],
    ['enrichment-consumer', 'read identity secrets', 'SELECT secret FROM core.identity_secrets'],
    ['email-consumer', 'add members', 'INSERT INTO core.project_members DEFAULT VALUES'],
    ['email-consumer', 'read who else is in a tenant', 'SELECT created_at FROM core.tenants'],
    ['email-consumer', 'read events', 'SELECT FROM ingest.events'],
    ['coupon-service', 'delete events', 'DELETE FROM ingest.events'],
    ['coupon-service', 'read which orders a conversion is of', 'SELECT event_id FROM ingest.conversions'],
    ['coupon-service', 'delete redemptions', 'DELETE FROM coupon.redemptions'],
    ['coupon-service', 'change traits', "UPDATE ingest.profiles SET traits = '{}'"],
    ['decision-service', 'change decisions', "UPDATE decision.decisions SET status = 'active'"],
    ['ingest-gateway', 'read passwords of links', 'SELECT password_hash FROM link.links'],
    ['ingest-gateway', 'delete events', 'DELETE FROM ingest.events'],
    ['ingest-gateway', 'make API keys', 'INSERT INTO core.api_keys DEFAULT VALUES'],
    ['ingest-gateway', 'raise the limits of API keys', 'UPDATE core.api_keys SET requests_per_minute = 1'],
    ['persistence-consumer', 'read API keys', 'SELECT secret_hash FROM core.api_keys'],
    ['ingest-gateway', 'remove months of events', "SELECT ingest.remove_moved_month('2026-01-01', 0)"],
    ['ingest-gateway', 'take files from the archive', 'DELETE FROM ingest.archive_files'],
    ['management-api', 'read what the archive has', 'SELECT name FROM ingest.archive_files'],
    ['persistence-consumer', 'change amounts', 'UPDATE coupon.redemptions SET amount = 1'],
    ['management-api', 'write events', 'INSERT INTO ingest.events DEFAULT VALUES'],
    ['management-api', 'change the audit log', 'DELETE FROM core.audit_log'],
    ['management-api', 'create partitions', "SELECT ingest.create_event_partition('2031-01-01')"],
  ])('do not allow %s %s', async (service, _, statement) => {
    await expect(as(service).query(statement)).rejects.toMatchObject(REFUSED)
  })

  it('allow writers of events to create only monthly partitions', async () => {
    const pool = as('persistence-consumer')
    await pool.query(`SELECT ingest.create_event_partition('2031-01-01')`)
    const { rows } = await owner.query(
      `SELECT tableowner = current_user AS "ofOwner" FROM pg_tables WHERE tablename = 'events_2031_01'`,
    )
    expect(rows).toEqual([{ ofOwner: true }])
    const create = (month: string | null) =>
      pool.query('SELECT ingest.create_event_partition($1::date) AS made', [month])
    expect((await create('2000-01-01')).rows).toEqual([{ made: true }])
    expect((await create('2000-01-01')).rows).toEqual([{ made: false }])
    expect((await create('2099-12-01')).rows).toEqual([{ made: true }])
    for (const month of ['1999-12-01', '2100-01-01', '2031-01-02', 'infinity', null])
      await expect(create(month), `${month}`).rejects.toMatchObject({ code: '22023' })
  })

  it('are updated by another run: passwords and removed privileges', async () => {
    const role = serviceRole('link-redirector', prefix)
    await owner.query(
      `GRANT SELECT ON core.users TO ${role}; GRANT UPDATE (name) ON core.projects TO ${role};
       GRANT CREATE ON SCHEMA link TO ${role}`,
    )
    await applyServiceRoles(owner, { prefix, passwords: { 'link-redirector': "it's new" } })
    const renewed = open(urlFor('link-redirector', "it's new"))
    await renewed.query('SELECT FROM link.links LIMIT 0')
    for (const statement of [
      'SELECT FROM core.users',
      "UPDATE core.projects SET name = ''",
      'CREATE TABLE link.mine (id int)',
    ])
      await expect(renewed.query(statement)).rejects.toMatchObject(REFUSED)
    await renewed.end()
    const old = open(urlFor('link-redirector'))
    await expect(old.query('SELECT 1')).rejects.toMatchObject({ code: '28P01' })
    await old.end()
    const kept = open(urlFor('coupon-service'))
    await kept.query('SELECT 1')
    await kept.end()
  })

  it('store passwords as SCRAM verifiers', async () => {
    const { rows } = await owner.query<{ verifier: string }>(
      'SELECT rolpassword AS verifier FROM pg_authid WHERE rolname = $1',
      [serviceRole('ingest-gateway', prefix)],
    )
    expect(rows[0]?.verifier).toMatch(/^SCRAM-SHA-256\$4096:/)
  })

  it('are not created without a password', async () => {
    expect(await applyServiceRoles(owner, { prefix: `${prefix}none_`, passwords: {} })).toEqual([])
    const one = await applyServiceRoles(owner, {
      prefix: `${prefix}one_`,
      passwords: { 'email-consumer': randomUUID() },
    })
    expect(one).toEqual([serviceRole('email-consumer', `${prefix}one_`)])
    await owner.query(`DROP OWNED BY ${one[0]}; DROP ROLE ${one[0]}`)
  })
})
