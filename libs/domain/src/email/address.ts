import { domainToUnicode } from 'node:url'
import { canonicalAddress, isEmailAddress } from '@waymark/contracts/email-address'

/** A mailbox of a `From` header: a display name, which may be empty, and the address. */
type Mailbox = { name: string; address: string }

const MAX_NAME_LENGTH = 200
const MAILBOX = /^([^<>"\p{Cc}]*?)\s*<([^<>]+)>$/u

/** The trimmed address in a trait. `undefined` when it is not an address. */
export const emailAddressIn = (trait: unknown): string | undefined => {
  if (typeof trait !== 'string') return undefined
  const address = trait.trim()
  return isEmailAddress(address) ? address : undefined
}

/** An address as it is looked up: its canonical form, or text that is no address in lower case. */
export const comparableAddress = (text: string): string => canonicalAddress(text) ?? text.trim().toLowerCase()

/** Text and, if it is an address, its spellings with the domain in Punycode and in Unicode: what a trait may contain. */
export const spellingsOf = (text: string): string[] => {
  const canonical = canonicalAddress(text)
  if (canonical === undefined) return [text]
  const at = canonical.lastIndexOf('@') + 1
  const inUnicode = canonical.slice(0, at) + domainToUnicode(canonical.slice(at))
  return [...new Set([text, canonical, inUnicode])]
}

/** Parses `Shop <hello@shop.example>` or a plain address. `undefined` when it is neither. */
export const parseMailbox = (text: string): Mailbox | undefined => {
  const [, name = '', inBrackets] = MAILBOX.exec(text.trim()) ?? []
  const address = inBrackets ?? text.trim()
  return isEmailAddress(address) && name.length <= MAX_NAME_LENGTH
    ? { name: name.trim(), address }
    : undefined
}
