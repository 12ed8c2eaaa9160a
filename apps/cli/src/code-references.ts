import { spawn } from 'node:child_process'
import { text } from 'node:stream/consumers'
import { CliError } from './exit-codes.ts'

/** A place in code that refers to a decision. `file` is relative to the searched folder. */
export type CodeReference = { decision: string; file: string; line: number }

/** Most places that a report may have. */
const MAX_REFERENCES = 10_000

/** Searches read their patterns from standard input, and separate the path from the line by a zero byte. */
const SEARCHES = [
  ['rg', '--line-number', '--no-heading', '--null', '--sort=path', '--fixed-strings', '--file=-', './'],
  ['git', 'grep', '--line-number', '--null', '-I', '--untracked', '--fixed-strings', '-f', '-'],
] as const

/**
 * The places in a folder whose code has the key of a decision as a string in quotes, found by ripgrep, or by Git where that
 * is not installed. Neither searches what Git ignores.
 * @throws CliError when neither is there, or the search fails
 */
export const findReferences = async (folder: string, keys: readonly string[]): Promise<CodeReference[]> => {
  if (keys.length === 0) return []
  const patterns = keys.flatMap((key) => QUOTES.map((quote) => `${quote}${key}${quote}`)).join('\n')
  for (const [command, ...args] of SEARCHES) {
    const found = await search(folder, command, args, patterns)
    if (found === undefined) continue
    const references = referencesIn(found, new Set(keys))
    if (references.length > MAX_REFERENCES)
      throw new CliError(`There are ${references.length} references; report at most ${MAX_REFERENCES}`)
    return references
  }
  throw new CliError('Neither ripgrep (rg) nor Git is installed, which search the code')
}

const QUOTES = [`'`, '"', '`'] as const
const LINE = /^(?:\.\/)?([^\0]+)\0(\d+)[:\0](.*)$/
const QUOTED = /(['"`])([A-Za-z0-9][A-Za-z0-9_.-]*)\1/g

/** The references in the output of a search. */
export const referencesIn = (output: string, keys: ReadonlySet<string>): CodeReference[] =>
  output.split('\n').flatMap((found) => {
    const [, file = '', line = '', code = ''] = LINE.exec(found) ?? []
    const named = new Set([...code.matchAll(QUOTED)].map(([, , key = '']) => key))
    return [...named]
      .filter((key) => keys.has(key))
      .map((decision) => ({ decision, file, line: Number(line) }))
  })

/** The output of a search. Undefined when its program is not installed. */
const search = async (
  cwd: string,
  command: string,
  args: readonly string[],
  patterns: string,
): Promise<string | undefined> => {
  const child = spawn(command, args, { cwd, stdio: ['pipe', 'pipe', 'pipe'] })
  const failed = new Promise<Error | undefined>((resolve) => {
    child.once('error', resolve)
    child.once('close', () => resolve(undefined))
  })
  // It may end before it has read all patterns.
  child.stdin.on('error', () => undefined)
  child.stdin.end(patterns)
  const [out, err, error] = await Promise.all([text(child.stdout), text(child.stderr), failed])
  if (error && 'code' in error && error.code === 'ENOENT') return undefined
  // 1: nothing was found.
  if (error || (child.exitCode !== 0 && child.exitCode !== 1))
    throw new CliError(`${command} could not search the code: ${error?.message ?? err.trim()}`)
  return out
}
