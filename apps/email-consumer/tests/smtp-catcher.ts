import { once } from 'node:events'
import type { AddressInfo } from 'node:net'
import { SMTPServer, type SMTPServerOptions } from 'smtp-server'

/** A message that the server accepted. */
export type Caught = { to: string; raw: string }

/** How the server differs from one that accepts everything. An error refuses the message with its `responseCode`. */
export type Behaviour = {
  onRecipient?: (address: string) => void | Promise<void>
  /** Called after a message is complete and before it is accepted. */
  onMessage?: (message: Caught) => void | Promise<void>
  options?: SMTPServerOptions
  port?: number
}

/** Refuses with a status such as 451 or 550. */
export const refusal = (responseCode: number, message: string): Error =>
  Object.assign(new Error(message), { responseCode })

/** A real local SMTP server that stores the messages. */
export const startSmtpCatcher = async ({ onRecipient, onMessage, options, port = 0 }: Behaviour = {}) => {
  const caught: Caught[] = []
  let connections = 0
  const settle = (work: void | Promise<void>, done: (error?: Error | null) => void): void => {
    Promise.resolve(work).then(() => done(), done)
  }
  const server = new SMTPServer({
    authOptional: true,
    disabledCommands: ['STARTTLS'],
    disableReverseLookup: true,
    closeTimeout: 100,
    ...options,
    onConnect: (_session, done) => {
      connections += 1
      done()
    },
    onRcptTo: ({ address }, _session, done) => settle((async () => onRecipient?.(address))(), done),
    onData: (stream, { envelope }, done) => {
      const take = async (): Promise<void> => {
        const chunks: Buffer[] = []
        for await (const chunk of stream) chunks.push(chunk as Buffer)
        const message = { to: envelope.rcptTo[0]?.address ?? '', raw: Buffer.concat(chunks).toString('utf8') }
        await onMessage?.(message)
        caught.push(message)
      }
      settle(take(), done)
    },
  })
  // Killed clients break their connections.
  server.on('error', () => {})
  server.listen(port, '127.0.0.1')
  await once(server.server, 'listening')
  const { port: taken } = server.server.address() as AddressInfo
  return {
    url: `smtp://127.0.0.1:${taken}`,
    port: taken,
    caught,
    connections: () => connections,
    /** Breaks every connection, like a crash of the server. */
    dropAll: () => {
      for (const connection of server.connections) connection._socket.destroy()
    },
    stop: () => new Promise<void>((resolve) => server.close(() => resolve())),
  }
}
