import type { AddCommands } from '../command.ts'

/** `waymark annotate` */
export const addAnnotateCommand: AddCommands = (program, run) => {
  program
    .command('annotate')
    .description('note on all charts what happened, such as a deployment')
    .argument('<text>', 'what happened')
    .option('--at <time>', 'when it happened, in RFC 3339; now unless given')
    .action(
      run(async (context, text: string, { at }: { at?: string }) => {
        const client = await context.client()
        const annotation = await client.post('/api/projects/{projectId}/annotations', {
          params: { path: { projectId: await context.projectId() } },
          body: { text, ...(at && { at }) },
        })
        context.out.result(annotation, annotation.id)
      }),
    )
}
