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

// A column of milliseconds rounds the present into the future, where it is not due yet.
const UNROUNDED = /<= now\(\)/
const QUERIES = /^(apps|libs)\/[^/]+\/src\/.*-queries\.ts$/

/**
 * Finds SQL outside of the files that are named `*-queries.ts`, and in these what compares a time that is due with a present
 * that is not rounded (`NOW` of `@waymark/database` is).
 */
export const checkSql = async (rootDir: string): Promise<Violation[]> => {
  const found = await Array.fromAsync(glob(SOURCES, { cwd: rootDir }))
  const files = found.map((file) => file.split(path.sep).join('/')).sort()
  const read = (file: string) => readFile(path.join(rootDir, file), 'utf8')
  const misplaced = files
    .filter((file) => !ALLOWED.some((allowed) => allowed.test(file)))
    .map(async (file) => violations('sql-is-in-queries-files', file, sqlIn(file, await read(file))))
  const unrounded = files
    .filter((file) => QUERIES.test(file))
    .map(async (file) => violations('what-is-due-is-rounded', file, unroundedIn(await read(file))))
  return (await Promise.all([...misplaced, ...unrounded])).flat()
}

const violations = (rule: string, file: string, found: FoundSql[]): Violation[] =>
  found.map(({ line, text }) => ({ rule, from: `${file}:${line}`, to: text }))

const unroundedIn = (source: string): FoundSql[] =>
  source
    .split('\n')
    .map((text, index) => ({ line: index + 1, text: text.trim() }))
    .filter(({ text }) => UNROUNDED.test(text))

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
