import { type AddCommands, collect } from '../command.ts'

type LinkOptions = { code?: string; campaign?: string; tag: string[]; domain?: string; expires?: string }

/** `waymark links create` */
export const addLinkCommands: AddCommands = (program, run) => {
  const links = program.command('links').description('create short links')
  links
    .command('create')
    .description('create a short link and print its address')
    .argument('<destination>', 'where it leads')
    .option('--code <code>', 'the part after /s/; generated unless given')
    .option('--campaign <name>', 'the campaign that its clicks count for')
    .option('--tag <tag>', 'a tag; repeat it for several', collect, [])
    .option('--domain <host>', 'a verified domain of the project')
    .option('--expires <time>', 'when it stops working')
    .action(
      run(async (context, destination: string, { code, campaign, tag, domain, expires }: LinkOptions) => {
        const client = await context.client()
        const link = await client.post('/api/projects/{projectId}/links', {
          params: { path: { projectId: await context.projectId() } },
          body: {
            destination,
            ...(code && { code }),
            ...(campaign && { campaign }),
            ...(tag.length > 0 && { tags: tag }),
            ...(domain && { domain }),
            ...(expires && { expiresAt: expires }),
          },
        })
        context.out.result(link, link.shortUrl)
      }),
    )
}
