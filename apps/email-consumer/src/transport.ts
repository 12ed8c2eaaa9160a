/** A message ready to be handed over. */
export type OutgoingMail = {
  /** The delivery that it belongs to. */
  id: string
  envelope: { from: string; to: string }
  /** Headers and body, by RFC 5322. */
  raw: Buffer
}

/** What came of handing a message over. */
export type HandOver =
  | { kind: 'accepted'; response: string }
  /** It was not taken, for certain. Whether trying again makes sense is told by `permanent`. */
  | { kind: 'refused'; permanent: boolean; reason: string }
  /** It was handed over, and nobody knows whether it was taken. */
  | { kind: 'unknown'; reason: string }

/** A way for mail to leave. */
export type MailTransport = {
  /**
   * Hands a message over. `begin` is awaited before the first byte of which it could not be said any more whether it
   * arrived; from then on the message may have been delivered. A transport that can repeat itself without harm never calls it.
   * @throws what `begin` throws; then nothing was handed over
   */
  send(mail: OutgoingMail, begin: () => Promise<void>): Promise<HandOver>
  /** Deletes the copies that it keeps of these deliveries' messages, if it keeps any. Repeating it does no harm. */
  deleteCopies?(deliveryIds: readonly string[]): Promise<void>
  /** Closes idle connections. */
  close(): Promise<void>
}
