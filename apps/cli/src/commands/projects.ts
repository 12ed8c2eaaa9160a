import type { AddCommands } from '../command.ts'

/** `waymark projects` */
export const addProjectCommands: AddCommands = (program, run) => {
  program
    .command('projects')
    .description('list your projects')
    .action(
      run(async ({ client, out }) => {
        const waymark = await client()
        const projects = await Array.fromAsync(waymark.list('/api/projects'))
        out.table(projects, projects, ['id', 'name', 'role', 'createdAt'])
      }),
    )
}
