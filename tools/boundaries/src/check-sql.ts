import { glob, readFile } from 'node:fs/promises'
import path from 'node:path'
import ts from 'typescript'
import type { Violation } from './check-boundaries.ts'

const SOURCES = ['apps/*/src/**/*.{ts,tsx}', 'libs/*/src/**/*.{ts,tsx}']
/**
 * Where SQL belongs: files of queries, the dialects from which analytics queries are built, and the package that
 * administers the database. Tests and their library may use SQL anywhere.
 */
const ALLOWED = [
  /-queries\.ts$/,
  /^libs\/event-store\/src\/[^/]+\/dialect\.ts$/,
  /^libs\/(database|testing)\//,
  /\.test\.tsx?$/,
  /\/generated\//,
]

const SQL =
  /\b(SELECT|INSERT INTO|DELETE FROM|TRUNCATE|WHERE|ORDER BY|GROUP BY|ON CONFLICT|FOR (NO KEY )?UPDATE)\s|\bUPDATE\s+[\w."]+\s+(AS\s+)?(\w+\s+)?SET\s|\b(CREATE|ALTER|DROP)\s+(UNIQUE\s+)?(TABLE|INDEX|SCHEMA|DATABASE|ROLE|VIEW|TYPE)\s/
const PRISMA_SQL = /(\$(query|execute)Raw|\bPrisma\.sql)$/

/** Finds SQL outside of the files that are named `*-queries.ts`. */
export const checkSql = async (rootDir: string): Promise<Violation[]> => {
  const files = await Array.fromAsync(glob(SOURCES, { cwd: rootDir }))
  const checked = files
    .map((file) => file.split(path.sep).join('/'))
    .filter((file) => !ALLOWED.some((allowed) => allowed.test(file)))
    .sort()
  const found = await Promise.all(
    checked.map(async (file) =>
      sqlIn(file, await readFile(path.join(rootDir, file), 'utf8')).map(({ line, text }) => ({
        rule: 'sql-is-in-queries-files',
        from: `${file}:${line}`,
        to: text,
      })),
    ),
  )
  return found.flat()
}

type FoundSql = { line: number; text: string }

/** The SQL in the string literals and templates of a source. */
const sqlIn = (file: string, source: string): FoundSql[] => {
  // Parsing is slow, and comments may hold SQL, too.
  if (!SQL.test(source) && !source.includes('Raw') && !source.includes('Prisma.sql')) return []
  const parsed = ts.createSourceFile(file, source, ts.ScriptTarget.Latest)
  const found: FoundSql[] = []
  const visit = (node: ts.Node): void => {
    if (isSql(node, parsed)) {
      const { line } = parsed.getLineAndCharacterOfPosition(node.getStart(parsed))
      found.push({ line: line + 1, text: node.getText(parsed).replace(/\s+/g, ' ').slice(0, 60) })
      return
    }
    ts.forEachChild(node, visit)
  }
  visit(parsed)
  return found
}

const isSql = (node: ts.Node, source: ts.SourceFile): boolean => {
  if (ts.isTaggedTemplateExpression(node)) return PRISMA_SQL.test(node.tag.getText(source))
  if (ts.isTemplateExpression(node)) return SQL.test(node.getText(source).slice(1, -1))
  return ts.isStringLiteralLike(node) && SQL.test(`${node.text} `)
}
