import { StdioServerTransport } from '@modelcontextprotocol/sdk/server/stdio.js'
import type { AddCommands } from '../command.ts'
import { createMcpServer } from '../mcp/server.ts'
import { VERSION } from '../version.ts'

/** `waymark mcp` */
export const addMcpCommand: AddCommands = (program, run) => {
  program
    .command('mcp')
    .description('serve the Model Context Protocol on standard input and output, for assistants')
    .option('--write', 'also offer tools that change the project')
    .action(
      run(async ({ io, client, projectId }, { write = false }: { write?: boolean }) => {
        const server = createMcpServer({
          client: await client(),
          projectId: await projectId(),
          version: VERSION,
          writes: write,
        })
        const closed = new Promise<void>((resolve) => {
          server.onclose = resolve
        })
        io.signal.addEventListener('abort', () => void server.close(), { once: true })
        // The SDK does not end when its client has gone.
        process.stdin.once('end', () => void server.close())
        await server.connect(new StdioServerTransport())
        await closed
      }),
    )
}
