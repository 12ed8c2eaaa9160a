import { Readable } from 'node:stream'
import { parseConnectionUrl } from 'nodemailer/lib/shared'
import SMTPConnection, { type SMTPConnectionOptions } from 'nodemailer/lib/smtp-connection'
import type { HandOver, MailTransport, OutgoingMail } from './transport.ts'

/** `url` is `smtp://user:password@host:587`, with options of nodemailer in its query. */
type SmtpOptions = {
  url: string
  /** How long the server may be silent, in ms. */
  timeoutMs: number
}

const CONNECT_TIMEOUT_MS = 30_000
/** Idle connections are closed before servers close them. */
const IDLE_MS = 30_000
const MAX_REASON_LENGTH = 500

/**
 * Sends messages to an SMTP server and reuses connections. Uses nodemailer's connection instead of its transporter, because
 * `begin` must run between the server's answer to `DATA` and the message: until then nothing can have been delivered.
 */
export const createSmtpTransport = ({ url, timeoutMs }: SmtpOptions): MailTransport => {
  const { auth, ...options } = parseConnectionUrl(url)
  const idle = new Map<SMTPConnection, NodeJS.Timeout>()

  const forget = (connection: SMTPConnection): void => {
    clearTimeout(idle.get(connection))
    idle.delete(connection)
  }
  const open = async (): Promise<SMTPConnection> => {
    const connection = await openConnection({ ...optionsOf(options), socketTimeout: timeoutMs }, auth)
    connection.once('end', () => forget(connection))
    return connection
  }
  const keep = (connection: SMTPConnection): void => {
    const leave = (): void => {
      forget(connection)
      connection.quit()
    }
    idle.set(connection, setTimeout(leave, IDLE_MS).unref())
  }

  const sendOver = async (connection: SMTPConnection, mail: OutgoingMail, begin: () => Promise<void>) => {
    let begun = false
    let refusedToBegin: { error: unknown } | undefined
    const held = async function* (): AsyncGenerator<Buffer> {
      await begin().catch((error) => {
        refusedToBegin = { error }
        throw error
      })
      begun = true
      yield mail.raw
    }
    try {
      const response = await send(connection, mail, Readable.from(held(), { objectMode: false }))
      keep(connection)
      return { outcome: { kind: 'accepted', response: plain(response) } satisfies HandOver, stale: false }
    } catch (error) {
      // Without the final dot the server discards the message.
      connection.close()
      if (refusedToBegin) throw refusedToBegin.error
      return { outcome: outcomeOf(error, begun), stale: !begun && !hasAnswer(error) }
    }
  }

  return {
    send: async (mail, begin) => {
      const [known] = idle.keys()
      if (known) {
        forget(known)
        const { outcome, stale } = await sendOver(known, mail, begin)
        // The server had closed the idle connection before this message.
        if (!stale) return outcome
      }
      try {
        const { outcome } = await sendOver(await open(), mail, begin)
        return outcome
      } catch (error) {
        if (error instanceof ConnectError)
          return { kind: 'refused', permanent: false, reason: plain(error.message) }
        throw error
      }
    },
    close: async () => {
      for (const connection of [...idle.keys()]) {
        forget(connection)
        connection.quit()
      }
    },
  }
}

/** There was no session, so the failure is not about a message. */
class ConnectError extends Error {}

const optionsOf = (options: object): SMTPConnectionOptions => ({
  connectionTimeout: CONNECT_TIMEOUT_MS,
  greetingTimeout: CONNECT_TIMEOUT_MS,
  ...options,
})

const openConnection = (
  options: SMTPConnectionOptions,
  auth: { user: string; pass: string } | undefined,
): Promise<SMTPConnection> =>
  new Promise((resolve, reject) => {
    const connection = new SMTPConnection(options)
    const fail = (error: Error): void => {
      reject(new ConnectError(error.message, { cause: error }))
      connection.close()
    }
    // Stays registered, because an unhandled error event would end the process.
    connection.on('error', fail)
    connection.once('end', () => fail(new Error('The server closed the connection')))
    connection.connect((error) => {
      if (error) fail(error)
      else if (!auth) resolve(connection)
      else connection.login(auth, (refused) => (refused ? fail(refused) : resolve(connection)))
    })
  })

const send = (connection: SMTPConnection, mail: OutgoingMail, message: Readable): Promise<string> =>
  new Promise((resolve, reject) => {
    const { from, to } = mail.envelope
    connection.send({ from, to: [to], size: mail.raw.length }, message, (error, info) =>
      error ? reject(error) : resolve(info.response),
    )
  })

type SmtpFailure = { message: string; code?: string; responseCode?: number; response?: string }

const hasAnswer = (error: unknown): boolean => (error as SmtpFailure).responseCode !== undefined

// Permanent errors of the client itself: an invalid address, or a message above the server's limit.
const OWN_REFUSALS = new Set(['EENVELOPE', 'EMESSAGE'])

const outcomeOf = (error: unknown, begun: boolean): HandOver => {
  const { message, code = '', responseCode, response } = error as SmtpFailure
  if (responseCode !== undefined) {
    return { kind: 'refused', permanent: responseCode >= 500, reason: plain(response ?? message) }
  }
  if (begun) return { kind: 'unknown', reason: plain(message) }
  return { kind: 'refused', permanent: OWN_REFUSALS.has(code), reason: plain(message) }
}

/** The text of a server as one line. */
const plain = (text: string): string =>
  text
    .replace(/\p{Cc}+/gu, ' ')
    .trim()
    .slice(0, MAX_REASON_LENGTH)
    .toWellFormed()
