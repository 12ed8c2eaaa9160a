import type { Database, PrismaClient } from '@waymark/database'

/** The value of every column that a later version added. No answer may show it. */
export const LATER_VALUE = 'value of a column of a later version'
const LATER_COLUMN = 'added_later'

const TABLES = `
  SELECT format('%I.%I', n.nspname, c.relname) AS name
  FROM pg_class c JOIN pg_namespace n ON n.oid = c.relnamespace
  WHERE c.relkind IN ('r', 'p') AND NOT c.relispartition AND n.nspname !~ '^(pg_|information_schema)'`

/**
 * Adds a column to every table, and to the rows that Prisma reads, as a version would that adds one to the schema.
 * @returns the database with that Prisma client
 */
export const withLaterColumns = async (db: Database): Promise<Database> => {
  const { rows } = await db.pool.query<{ name: string }>(TABLES)
  for (const { name } of rows)
    await db.pool.query(
      `ALTER TABLE ${name} ADD COLUMN ${LATER_COLUMN} text NOT NULL DEFAULT '${LATER_VALUE}'`,
    )
  const prisma = db.prisma.$extends({
    query: {
      $allModels: {
        $allOperations: async ({ args, query }) => withColumn(await query(args), args as Selection),
      },
    },
  })
  // The client has the same methods, but another type.
  return { ...db, prisma: prisma as unknown as PrismaClient }
}

type Selection = { select?: object; include?: object } | undefined

/** Adds the column to rows and their relations, except where a query selects columns. */
const withColumn = <T>(result: T, args: Selection): T => {
  if (Array.isArray(result)) return result.map((row) => withColumn(row, args)) as T
  if (typeof result !== 'object' || result === null) return result
  const relations = Object.entries(args?.include ?? args?.select ?? {}).filter(
    ([, nested]) => typeof nested === 'object' || (nested === true && args?.include !== undefined),
  )
  const read = relations.map(([name, nested]) => [
    name,
    withColumn(Reflect.get(result, name), nested === true ? undefined : (nested as Selection)),
  ])
  return {
    ...result,
    ...Object.fromEntries(read),
    ...(args?.select === undefined && { addedLater: LATER_VALUE }),
  }
}
