import path from 'node:path'
import { checkBoundaries } from './check-boundaries.ts'

// The argument replaces the root folder, for the test of this program.
const rootDir = path.resolve(process.argv[2] ?? path.join(import.meta.dirname, '../../..'))
const { modules, dependencies, violations } = await checkBoundaries(rootDir)
for (const { rule, from, to } of violations) process.stdout.write(`${rule}: ${from} → ${to}\n`)
process.stdout.write(`${modules} modules, ${dependencies} imports, ${violations.length} violations\n`)
process.exitCode = violations.length > 0 ? 1 : 0
