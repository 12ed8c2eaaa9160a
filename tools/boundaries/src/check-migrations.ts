import { glob, readFile } from 'node:fs/promises'
import path from 'node:path'
import type { Violation } from './check-boundaries.ts'

const MIGRATIONS = 'libs/database/prisma/migrations/*/migration.sql'
/** Earlier migrations are part of the first release, beside which no earlier version runs. */
const FIRST_CHECKED = '20261126'

/** Says since which version no statement uses what a migration removes. */
const UNUSED = /^--\s*Unused since (\d+)\.(\d+)\.(\d+)\b/m
/** Says why all rows of a table can be changed in one transaction. */
const FEW_ROWS = /^--\s*Few rows: \S/m

/**
 * Checks the migrations since the first release: while one is applied, the previous version writes to the same tables and
 * uses the columns and indexes that it knows.
 */
export const checkMigrations = async (rootDir: string): Promise<Violation[]> => {
  const files = await Array.fromAsync(glob(MIGRATIONS, { cwd: rootDir }))
  const checked = files.filter((file) => path.basename(path.dirname(file)) >= FIRST_CHECKED).sort()
  if (checked.length === 0) return []
  const { version } = JSON.parse(await readFile(path.join(rootDir, 'package.json'), 'utf8')) as {
    version: string
  }
  const found = await Promise.all(
    checked.map(async (file) =>
      problemsIn(await readFile(path.join(rootDir, file), 'utf8'), version).map(({ rule, statement }) => ({
        rule,
        from: file.split(path.sep).join('/'),
        to: statement,
      })),
    ),
  )
  return found.flat()
}

type Problem = { rule: string; statement: string }

const NAME = String.raw`(?:"?\w+"?\.)?"?\w+"?`
const nameAfter = (words: string) =>
  new RegExp(String.raw`\b${words}\s+(?:IF (?:NOT )?EXISTS\s+)?(?:ONLY\s+)?(${NAME})`, 'i')

/** What is wrong with the statements of a migration. `version` is the one that will contain it. */
export const problemsIn = (sql: string, version: string): Problem[] => {
  const statements = statementsOf(sql)
  const created = new Set(
    statements.flatMap(
      (statement) => nameAfter('CREATE TABLE').exec(statement)?.[1]?.replaceAll('"', '') ?? [],
    ),
  )
  /** Whether a statement is about a table that existed before. */
  const isOnExisting = (statement: string, words: string): boolean => {
    const table = nameAfter(words).exec(statement)?.[1]?.replaceAll('"', '')
    return table !== undefined && !created.has(table)
  }
  const unused = isUnused(sql, version)
  const addsConstraint = statements.some((statement) => /\bADD CONSTRAINT\b/i.test(statement))

  return statements.flatMap((statement) => {
    const rules: string[] = []
    const refuseIf = (condition: boolean, rule: string): void => {
      if (condition) rules.push(rule)
    }
    refuseIf(/\bRENAME\b/i.test(statement), 'migration-renames')
    refuseIf(
      /^DROP (TABLE|SCHEMA|INDEX|FUNCTION|TYPE|VIEW)\b/i.test(statement) && !unused,
      'migration-removes-what-may-be-used',
    )
    refuseIf(
      /^CREATE (UNIQUE )?INDEX (?!CONCURRENTLY)/i.test(statement) && isOnExisting(statement, 'ON'),
      'migration-blocks-writers',
    )
    refuseIf(/^DROP INDEX (?!CONCURRENTLY)/i.test(statement), 'migration-blocks-writers')
    const changesRows =
      (/^(UPDATE|TRUNCATE|LOCK)\b/i.test(statement) &&
        isOnExisting(statement, '(?:UPDATE|TRUNCATE|LOCK)(?: TABLE)?')) ||
      (/^DELETE\b/i.test(statement) && isOnExisting(statement, 'DELETE FROM'))
    refuseIf(changesRows && !FEW_ROWS.test(sql), 'migration-changes-all-rows')
    if (/^ALTER TABLE\b/i.test(statement) && isOnExisting(statement, 'ALTER TABLE'))
      for (const action of actionsOf(statement)) {
        refuseIf(/^DROP (COLUMN|DEFAULT)\b/i.test(action) && !unused, 'migration-removes-what-may-be-used')
        refuseIf(
          /^ALTER (COLUMN )?\S+ DROP DEFAULT\b/i.test(action) && !unused,
          'migration-removes-what-may-be-used',
        )
        refuseIf(/^ALTER (COLUMN )?\S+ SET NOT NULL\b/i.test(action) && !unused, 'migration-requires-a-value')
        refuseIf(/^ALTER (COLUMN )?\S+ (SET DATA )?TYPE\b/i.test(action), 'migration-changes-a-type')
        const addsColumn = /^ADD COLUMN\b/i.test(action)
        refuseIf(
          addsColumn && /\bNOT NULL\b/i.test(action) && !/\bDEFAULT\b/i.test(action),
          'migration-requires-a-value',
        )
        // PostgreSQL would write a value into every row.
        refuseIf(
          addsColumn &&
            /\bDEFAULT \w*(random\w*|clock_timestamp|nextval)\b|\bGENERATED\b|\bSERIAL\b/i.test(action),
          'migration-blocks-writers',
        )
        refuseIf(
          addsColumn && /\b(UNIQUE|REFERENCES|PRIMARY KEY)\b/i.test(action),
          'migration-blocks-writers',
        )
        refuseIf(
          /^ADD (CONSTRAINT|CHECK|UNIQUE|PRIMARY|FOREIGN)\b/i.test(action) &&
            !/\b(NOT VALID|USING INDEX)\b/i.test(action),
          'migration-blocks-writers',
        )
        // In one transaction the lock of the first is kept for the second, which reads the whole table.
        refuseIf(/^VALIDATE CONSTRAINT\b/i.test(action) && addsConstraint, 'migration-blocks-writers')
      }
    return rules.map((rule) => ({ rule, statement: statement.replaceAll(/\s+/g, ' ').slice(0, 80) }))
  })
}

/** Whether a migration says that a version before `version` did not use what it removes. */
const isUnused = (sql: string, version: string): boolean => {
  const since = UNUSED.exec(sql)?.slice(1).map(Number)
  if (!since) return false
  const own = version.split('.').map(Number)
  const differing = since.findIndex((part, index) => part !== own[index])
  return differing >= 0 && (since[differing] ?? 0) < (own[differing] ?? 0)
}

/** The statements without comments. Bodies of functions and texts in quotes become empty. */
const statementsOf = (sql: string): string[] =>
  sql
    .replaceAll(/(\$\w*\$)[\s\S]*?\1|'(?:[^']|'')*'|--[^\n]*|\/\*[\s\S]*?\*\//g, (part) =>
      part.startsWith("'") ? "''" : ' ',
    )
    .split(';')
    .map((statement) => statement.trim())
    .filter((statement) => statement !== '')

/** The actions of `ALTER TABLE`, such as `ADD COLUMN …`. */
const actionsOf = (statement: string): string[] =>
  statement
    .replace(new RegExp(String.raw`^ALTER TABLE\s+(IF EXISTS\s+)?(ONLY\s+)?${NAME}\s*`, 'i'), '')
    .split(/,\s*(?=(?:ADD|DROP|ALTER|VALIDATE|SET)\b)/i)
    .map((action) => action.trim().replaceAll(/\s+/g, ' '))
