import path from 'node:path'
import { checkBoundaries } from './check-boundaries.ts'
import { checkMigrations } from './check-migrations.ts'
import { checkSql } from './check-sql.ts'
import { checkTestTime } from './check-test-time.ts'

// The argument replaces the root folder, for the test of this program.
const rootDir = path.resolve(process.argv[2] ?? path.join(import.meta.dirname, '../../..'))
const { modules, dependencies, violations } = await checkBoundaries(rootDir)
const all = [
  ...violations,
  ...(await checkMigrations(rootDir)),
  ...(await checkSql(rootDir)),
  ...(await checkTestTime(rootDir)),
]
for (const { rule, from, to } of all) process.stdout.write(`${rule}: ${from} → ${to}\n`)
process.stdout.write(`${modules} modules, ${dependencies} imports, ${all.length} violations\n`)
process.exitCode = all.length > 0 ? 1 : 0
