import { Command, CommanderError } from 'commander'
import type { AddCommands, Run } from './command.ts'
import { addAlertCommands } from './commands/alerts.ts'
import { addAnnotateCommand } from './commands/annotate.ts'
import { addConfigurationCommands } from './commands/configuration.ts'
import { addCouponCommands } from './commands/coupons.ts'
import { addDoctorCommand } from './commands/doctor.ts'
import { addErasureCommands } from './commands/erasures.ts'
import { addEventCommands } from './commands/events.ts'
import { addFlagCommands } from './commands/flags.ts'
import { addGiftCardCommands } from './commands/gift-cards.ts'
import { addImportCommands } from './commands/import.ts'
import { addKeyCommands } from './commands/keys.ts'
import { addLinkCommands } from './commands/links.ts'
import { addLoginCommands } from './commands/login.ts'
import { addLoyaltyCommands } from './commands/loyalty.ts'
import { addMcpCommand } from './commands/mcp.ts'
import { addProjectCommands } from './commands/projects.ts'
import { addQueryCommands } from './commands/query.ts'
import { completionScript, shells } from './completion.ts'
import { createContext, DEFAULT_URL, type GlobalOptions, type Io } from './context.ts'
import { CliError, EXIT, exitCodeOf, messageOf } from './exit-codes.ts'
import { VERSION } from './version.ts'

/** Runs the command with arguments. Resolves to its exit code and never rejects. */
export const runCli = async (argv: readonly string[], io: Io): Promise<number> => {
  try {
    await createProgram(io).parseAsync(argv, { from: 'user' })
    return EXIT.ok
  } catch (error) {
    // What is wrong with the arguments was written already.
    if (error instanceof CommanderError) return error.exitCode === 0 ? EXIT.ok : EXIT.usage
    if (io.signal.aborted) return EXIT.ok
    const isEmpty = error instanceof CliError && error.message === ''
    if (!isEmpty) io.stderr.write(`${messageOf(error)}\n`)
    return exitCodeOf(error)
  }
}

/** The program with all its commands. */
export const createProgram = (io: Io): Command => {
  const program = new Command('waymark')
    .description(
      'Works with a Waymark installation: events, queries, flags, links, coupons and configuration.',
    )
    .version(VERSION)
    .option(
      '--url <url>',
      `the address of Waymark (WAYMARK_URL; default: that of the login, or ${DEFAULT_URL})`,
    )
    .option('--project <id or name>', 'the project (WAYMARK_PROJECT; default: the only one)')
    .option('--json', 'print JSON')
    .option('--csv', 'print lists as CSV')
    .exitOverride()
    .configureOutput({
      writeOut: (text) => io.stdout.write(text),
      writeErr: (text) => io.stderr.write(text),
    })
    .showSuggestionAfterError()
  const run: Run =
    (action) =>
    async (...args) => {
      const options = program.opts<GlobalOptions>()
      if (options.json && options.csv) throw new CliError('Choose one of --json and --csv')
      await action(createContext(io, options), ...(args as never))
    }
  for (const add of COMMANDS) add(program, run)
  program
    .command('completion')
    .description('print a script that completes the commands in your shell')
    .argument('<shell>', shells.join(', '))
    .action((shell: string) => {
      io.stdout.write(completionScript(program, shell))
    })
  return program
}

const COMMANDS: readonly AddCommands[] = [
  addLoginCommands,
  addProjectCommands,
  addEventCommands,
  addQueryCommands,
  addAlertCommands,
  addFlagCommands,
  addLinkCommands,
  addAnnotateCommand,
  addCouponCommands,
  addGiftCardCommands,
  addLoyaltyCommands,
  addKeyCommands,
  addDoctorCommand,
  addConfigurationCommands,
  addImportCommands,
  addMcpCommand,
  addErasureCommands,
]
