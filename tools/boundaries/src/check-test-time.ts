import { glob, readFile } from 'node:fs/promises'
import path from 'node:path'
import ts from 'typescript'
import type { Violation } from './check-boundaries.ts'

const TESTS = [
  '{apps,libs,tools}/*/src/**/*.test.{ts,tsx}',
  '{apps,libs,tools}/*/tests/**/*.ts',
  'libs/testing/src/**/*.ts',
]
/** Files that may use time. */
const ALLOWED = [
  // What they measure is the point. The project `chaos` runs them, with nothing else at the same time.
  /^tools\/(bench|chaos)\//,
  /\.chaos\.test\.ts$/,
  // They wait for a condition, and give up after a minute.
  /^libs\/testing\/src\/(eventually|until-available)\.ts$/,
  // A slow network, and what watches and counts a test run.
  /^libs\/testing\/src\/(tcp-proxy|summary-reporter|run-counts)\.ts$/,
  // It measures the memory of tests in `chaos`.
  /^libs\/testing\/src\/used-memory\.ts$/,
]

const MEASURES = /^(performance\.now|process\.(cpuUsage|threadCpuUsage|memoryUsage|resourceUsage|hrtime))$/
const WAITS = /^(globalThis\.)?setTimeout$/
const FAKE_CLOCK = 'useFakeTimers'
/** Numbers and constants such as `3 * DAY_MS`, which make a time in the past. */
const CONSTANT = /^[\dA-Z_*+\s()/.]+$/
// Parsing is slow, and most files use none of these.
const CANDIDATE =
  /performance|process\.(cpuUsage|threadCpuUsage|memoryUsage|resourceUsage|hrtime)|Date\.now|setTimeout|timers|usedMemory/

/** Finds tests, and helpers of tests, that measure time, CPU time or memory, or wait for a time to pass. */
export const checkTestTime = async (rootDir: string): Promise<Violation[]> => {
  const files = await Array.fromAsync(glob(TESTS, { cwd: rootDir, exclude: ['**/node_modules/**'] }))
  const checked = [...new Set(files.map((file) => file.split(path.sep).join('/')))]
    .filter((file) => !ALLOWED.some((allowed) => allowed.test(file)))
    .sort()
  const found = await Promise.all(
    checked.map(async (file) =>
      timeIn(file, await readFile(path.join(rootDir, file), 'utf8')).map(({ line, text }) => ({
        rule: 'tests-do-not-depend-on-time',
        from: `${file}:${line}`,
        to: text,
      })),
    ),
  )
  return found.flat()
}

type FoundTime = { line: number; text: string }

const timeIn = (file: string, source: string): FoundTime[] => {
  if (!CANDIDATE.test(source)) return []
  const hasFakeClock = source.includes(FAKE_CLOCK)
  const parsed = ts.createSourceFile(file, source, ts.ScriptTarget.Latest, true)
  const found: FoundTime[] = []
  const visit = (node: ts.Node): void => {
    if (isMeasure(node) || isAge(node) || (!hasFakeClock && isWait(node))) {
      const { line } = parsed.getLineAndCharacterOfPosition(node.getStart(parsed))
      found.push({ line: line + 1, text: node.getText(parsed).replace(/\s+/g, ' ').slice(0, 60) })
      return
    }
    ts.forEachChild(node, visit)
  }
  visit(parsed)
  return found
}

const isMeasure = (node: ts.Node): boolean =>
  (ts.isPropertyAccessExpression(node) && MEASURES.test(node.getText())) ||
  (ts.isImportSpecifier(node) && (node.propertyName ?? node.name).text === 'usedMemory')

/** `Date.now() - startedAt`, but not a time in the past such as `new Date(Date.now() - age)`. */
const isAge = (node: ts.Node): boolean =>
  ts.isBinaryExpression(node) &&
  node.operatorToken.kind === ts.SyntaxKind.MinusToken &&
  node.left.getText() === 'Date.now()' &&
  !ts.isNewExpression(node.parent) &&
  !CONSTANT.test(node.right.getText())

/** A call of `setTimeout`, or its import from `timers/promises`. */
const isWait = (node: ts.Node): boolean => {
  if (ts.isCallExpression(node)) return WAITS.test(node.expression.getText())
  if (!ts.isImportDeclaration(node)) return false
  const from = (node.moduleSpecifier as ts.StringLiteral).text
  return /^(node:)?timers(\/promises)?$/.test(from) && /\bsetTimeout\b/.test(node.getText())
}
