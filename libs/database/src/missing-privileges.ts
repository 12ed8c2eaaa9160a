import type { Pool } from 'pg'
import { type ServiceGrants, type ServiceName, serviceGrants } from './service-roles.ts'

const MISSING = `
  SELECT DISTINCT w.privilege || ' on ' || w.name AS missing
  FROM unnest($1::text[], $2::text[], $3::text[]) AS w(name, privilege, field)
  LEFT JOIN (pg_class c JOIN pg_namespace n ON n.oid = c.relnamespace)
    ON n.nspname = split_part(w.name, '.', 1) AND c.relname = split_part(w.name, '.', 2)
  WHERE c.oid IS NULL OR NOT has_schema_privilege(n.oid, 'USAGE')
    OR CASE WHEN w.field IS NULL THEN NOT has_table_privilege(c.oid, w.privilege)
       ELSE NOT has_column_privilege(c.oid, w.field, w.privilege) END
  ORDER BY 1`

/** What the role of this connection may not do, but a service needs, such as `INSERT on ingest.events`. */
export const missingPrivileges = async (pool: Pool, service: ServiceName): Promise<string[]> => {
  const wanted = privilegesOf(serviceGrants[service])
  const { rows } = await pool.query<{ missing: string }>(MISSING, [
    wanted.map(({ table }) => table),
    wanted.map(({ privilege }) => privilege),
    wanted.map(({ column }) => column),
  ])
  return rows.map(({ missing }) => missing)
}

type Privilege = { table: string; privilege: string; column: string | null }

/** The privileges one by one. A privilege on columns is one for each. */
export const privilegesOf = ({ tables }: Pick<ServiceGrants, 'tables'>): Privilege[] =>
  Object.entries(tables).flatMap(([table, grants]) =>
    [...grants.matchAll(/(\w+)(?:\s*\(([^)]*)\))?/g)].flatMap(([, privilege = '', columns]) =>
      (columns?.split(',') ?? [null]).map((column) => ({
        table,
        privilege,
        column: column === null ? null : column.trim(),
      })),
    ),
  )
