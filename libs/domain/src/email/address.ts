/** A sender as it stands in `From`: a name to show, which may be empty, and the address. */
export type Mailbox = { name: string; address: string }

const MAX_ADDRESS_LENGTH = 254
const MAX_LOCAL_LENGTH = 64
const MAX_NAME_LENGTH = 200
// What separates addresses, or ends one, in a header or in a command of SMTP is left out, quoted or not.
const ADDRESS =
  /^([^\s\p{C}@<>()[\]\\,;:"]+)@((?:[\p{L}\p{N}](?:[\p{L}\p{N}-]*[\p{L}\p{N}])?\.)*[\p{L}\p{N}](?:[\p{L}\p{N}-]*[\p{L}\p{N}])?)$/u
const MAILBOX = /^([^<>"\p{Cc}]*?)\s*<([^<>]+)>$/u

/** Whether an email can be addressed to this: one address, without a name, of at most 254 characters. */
export const isEmailAddress = (text: string): boolean => {
  if (text.length > MAX_ADDRESS_LENGTH) return false
  const [, local] = ADDRESS.exec(text) ?? []
  return local !== undefined && local.length <= MAX_LOCAL_LENGTH
}

/** The address in a trait, without the blanks around it; `undefined` when that is none. */
export const emailAddressIn = (trait: unknown): string | undefined => {
  if (typeof trait !== 'string') return undefined
  const address = trait.trim()
  return isEmailAddress(address) ? address : undefined
}

/** The form in which addresses are compared. Servers that tell capitals apart exist in standards only. */
export const comparableAddress = (address: string): string => address.trim().toLowerCase()

/** Reads `Shop <hello@shop.example>` or a bare address; `undefined` when it is neither. */
export const parseMailbox = (text: string): Mailbox | undefined => {
  const [, name = '', inBrackets] = MAILBOX.exec(text.trim()) ?? []
  const address = inBrackets ?? text.trim()
  return isEmailAddress(address) && name.length <= MAX_NAME_LENGTH
    ? { name: name.trim(), address }
    : undefined
}
