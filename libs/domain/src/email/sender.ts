import { canonicalAddress } from '@waymark/contracts/email-address'
import { parseMailbox } from './address.ts'

/** An allowed sender, an address or a domain, and the mailbox that can confirm it. */
export type Sender = { sender: string; recipient: string }

/** The mailbox that every domain with email has, by RFC 2142. */
const DOMAIN_MAILBOX = 'postmaster'

/** Parses and normalizes an address, or a domain such as `shop.example`. `undefined` when it is neither. */
export const parseSender = (text: string): Sender | undefined => {
  const given = text.trim()
  if (given.includes('@')) {
    const sender = canonicalAddress(given)
    return sender === undefined ? undefined : { sender, recipient: sender }
  }
  const recipient = given.includes('.') ? canonicalAddress(`${DOMAIN_MAILBOX}@${given}`) : undefined
  return recipient === undefined ? undefined : { sender: domainOf(recipient), recipient }
}

/** The senders that allow a `From` such as `Shop <hello@shop.example>`: its address and its domain. Empty if malformed. */
export const sendersOf = (from: string): string[] => {
  const address = canonicalAddress(parseMailbox(from)?.address ?? '')
  return address === undefined ? [] : [address, domainOf(address)]
}

const domainOf = (address: string): string => address.slice(address.lastIndexOf('@') + 1)
