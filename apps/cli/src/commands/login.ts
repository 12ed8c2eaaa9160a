import type { AddCommands } from '../command.ts'
import { clientFor, DEFAULT_URL } from '../context.ts'
import { readCredentials, removeCredentials, writeCredentials } from '../credentials.ts'
import { CliError } from '../exit-codes.ts'
import { readSecret } from '../read-secret.ts'

/** `waymark login` and `waymark logout`. */
export const addLoginCommands: AddCommands = (program, run) => {
  program
    .command('login')
    .description('keep a personal access token, read from the terminal or standard input')
    .action(
      run(async ({ io, out }) => {
        const kept = await readCredentials(io.env)
        const { url: given, project } = program.opts<{ url?: string; project?: string }>()
        const url = (given || io.env.WAYMARK_URL || kept.url || DEFAULT_URL).replace(/\/+$/, '')
        out.note(`Create a personal access token at ${url}/console/account and paste it here.`)
        const token = (await readSecret(io, 'Token: ')).trim()
        if (!token.startsWith('wm_pat_'))
          throw new CliError(
            'A personal access token begins with wm_pat_. For an API key, set WAYMARK_TOKEN.',
          )
        const { user, projects } = await clientFor(io, url, token).get('/api/auth/me')
        const file = await writeCredentials(io.env, { url, token, ...(project && { project }) })
        const summary = { url, email: user.email, projects: projects.length, file }
        out.result(summary, `Signed in to ${url} as ${user.email}. The token is kept in ${file}.`)
      }),
    )
  program
    .command('logout')
    .description('forget the token; revoke it in the console')
    .action(
      run(async ({ io, out }) => {
        await removeCredentials(io.env)
        out.result({ signedOut: true }, 'The token is no longer kept here. It is valid until you revoke it.')
      }),
    )
}
