/** A message ready to send. */
export type OutgoingMail = {
  /** The id of its delivery. */
  id: string
  envelope: { from: string; to: string }
  /** Headers and body, by RFC 5322. */
  raw: Buffer
}

/** The outcome of sending a message. */
export type HandOver =
  | { kind: 'accepted'; response: string }
  /** Certainly not delivered. `permanent`: a retry is useless. */
  | { kind: 'refused'; permanent: boolean; reason: string }
  /** Handed over without an answer. */
  | { kind: 'unknown'; reason: string }

/** Sends messages. */
export type MailTransport = {
  /**
   * Sends a message. Awaits `begin` before the message can be delivered. A transport whose repeats are harmless does not
   * call it.
   * @throws what `begin` throws, without sending
   */
  send(mail: OutgoingMail, begin: () => Promise<void>): Promise<HandOver>
  /** Deletes the copies that the transport keeps of these deliveries' messages. Idempotent. */
  deleteCopies?(deliveryIds: readonly string[]): Promise<void>
  /** Closes idle connections. */
  close(): Promise<void>
}
