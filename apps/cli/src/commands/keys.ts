import { type AddCommands, collect } from '../command.ts'
import { CliError } from '../exit-codes.ts'

type KeyOptions = { kind: string; scope: string[]; env: string; requestsPerMinute?: string; origin: string[] }

/** Enough for the requests of a small shop, which all come from one address. */
export const DEFAULT_REQUESTS_PER_MINUTE = 6_000

/** `waymark keys create` */
export const addKeyCommands: AddCommands = (program, run) => {
  const keys = program.command('keys').description('create API keys')
  keys
    .command('create')
    .description(
      'create an API key and print it once; needs a key with manage:admin, because tokens are refused',
    )
    .argument('<name>', 'a name for people')
    .option('--kind <kind>', 'sec for servers, pub for pages and apps', 'sec')
    .option('--scope <scope>', 'what it may do; repeat it for several', collect, [])
    .option('--env <environment>', 'whose rules it gets from decisions', 'production')
    .option(
      '--requests-per-minute <n>',
      `the limit of a sec key; none for those of each address (default: ${DEFAULT_REQUESTS_PER_MINUTE})`,
    )
    .option('--origin <origin>', 'a site that may use a pub key; repeat it for several', collect, [])
    .action(
      run(async (context, name: string, { kind, scope, env, requestsPerMinute, origin }: KeyOptions) => {
        if (kind !== 'sec' && kind !== 'pub') throw new CliError(`--kind must be sec or pub, not ${kind}`)
        const client = await context.client()
        const key = await client.post('/api/projects/{projectId}/api-keys', {
          params: { path: { projectId: await context.projectId() } },
          body: {
            name,
            kind,
            scopes: (scope.length > 0 ? scope : ['events:write']) as never,
            environment: env,
            ...(kind === 'sec' && { requestsPerMinute: limitOf(requestsPerMinute) }),
            ...(origin.length > 0 && { allowedOrigins: origin }),
          },
        })
        context.out.result(key, key.key)
      }),
    )
}

const limitOf = (text: string | undefined): number | null => {
  if (text === undefined) return DEFAULT_REQUESTS_PER_MINUTE
  if (text === 'none') return null
  const limit = Number(text)
  if (!Number.isInteger(limit) || limit < 1)
    throw new CliError(`--requests-per-minute must be an integer from 1, or none, not ${text}`)
  return limit
}
