import type { Command } from 'commander'
import type { Context } from './context.ts'

/** Adds commands to the program. `run` wraps an action, which gets the context and its arguments and options. */
export type AddCommands = (program: Command, run: Run) => void
export type Run = <A extends unknown[]>(
  action: (context: Context, ...args: A) => Promise<void>,
) => (...args: [...A, ...unknown[]]) => Promise<void>
