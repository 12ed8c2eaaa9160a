import { ApiError, ConnectionError } from '@waymark/client'

/** The exit codes of the command. They are documented in docs/cli.md. */
export const EXIT = {
  ok: 0,
  /** An error that is none of the others. */
  failed: 1,
  /** Wrong arguments, or a file that cannot be read. */
  usage: 2,
  /** No token, or one that is refused or may not do this. */
  notAllowed: 3,
  /** The project or the resource does not exist. */
  notFound: 4,
  /** The API refused the request as invalid or in conflict. */
  refused: 5,
  /** Waymark cannot be reached, is busy or unavailable. */
  unavailable: 6,
  /** The answer of the command is no: `doctor` found a problem, `diff --exit-code` a difference. */
  negative: 7,
} as const

/** An error with a message for users and an exit code. */
export class CliError extends Error {
  readonly exitCode: number
  constructor(message: string, exitCode: number = EXIT.usage) {
    super(message)
    this.exitCode = exitCode
  }
}

/** The exit code of an error. */
export const exitCodeOf = (error: unknown): number => {
  if (error instanceof CliError) return error.exitCode
  if (error instanceof ConnectionError) return EXIT.unavailable
  return error instanceof ApiError ? exitCodeOfStatus(error.status) : EXIT.failed
}

const exitCodeOfStatus = (status: number): number => {
  if (status === 401 || status === 403) return EXIT.notAllowed
  if (status === 404) return EXIT.notFound
  if (status === 429 || status >= 500) return EXIT.unavailable
  return EXIT.refused
}

/** The error as text for users: a line for each problem. */
export const messageOf = (error: unknown): string => {
  if (!(error instanceof Error)) return String(error)
  if (!(error instanceof ApiError) || error.problems.length === 0) return error.message
  const problems = error.problems.map(({ field, message }) => `  ${field ? `${field}: ` : ''}${message}`)
  return [error.message.split(' (')[0], ...problems].join('\n')
}
