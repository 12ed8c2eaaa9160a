import type { Command } from 'commander'
import type { Context } from './context.ts'

/** Adds commands to the program. `run` wraps an action, which gets the context and its arguments and options. */
export type AddCommands = (program: Command, run: Run) => void
/** Collects the values of an option that may be repeated. */
export const collect = (value: string, all: string[]): string[] => [...all, value]

export type Run = <A extends unknown[]>(
  action: (context: Context, ...args: A) => Promise<void>,
) => (...args: [...A, ...unknown[]]) => Promise<void>
