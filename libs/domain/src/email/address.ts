/** A mailbox of a `From` header: a display name, which may be empty, and the address. */
type Mailbox = { name: string; address: string }

const MAX_ADDRESS_LENGTH = 254
const MAX_LOCAL_LENGTH = 64
const MAX_NAME_LENGTH = 200
// Excludes all characters that separate or end addresses in headers and SMTP commands, even quoted.
const ADDRESS =
  /^([^\s\p{C}@<>()[\]\\,;:"]+)@((?:[\p{L}\p{N}](?:[\p{L}\p{N}-]*[\p{L}\p{N}])?\.)*[\p{L}\p{N}](?:[\p{L}\p{N}-]*[\p{L}\p{N}])?)$/u
const MAILBOX = /^([^<>"\p{Cc}]*?)\s*<([^<>]+)>$/u

/** Whether text is a single email address of at most 254 characters, without a display name. */
export const isEmailAddress = (text: string): boolean => {
  if (text.length > MAX_ADDRESS_LENGTH) return false
  const [, local] = ADDRESS.exec(text) ?? []
  return local !== undefined && local.length <= MAX_LOCAL_LENGTH
}

/** The trimmed address in a trait. `undefined` when it is not an address. */
export const emailAddressIn = (trait: unknown): string | undefined => {
  if (typeof trait !== 'string') return undefined
  const address = trait.trim()
  return isEmailAddress(address) ? address : undefined
}

/** Normalizes an address for comparison. In practice no server is case-sensitive. */
export const comparableAddress = (address: string): string => address.trim().toLowerCase()

/** Parses `Shop <hello@shop.example>` or a plain address. `undefined` when it is neither. */
export const parseMailbox = (text: string): Mailbox | undefined => {
  const [, name = '', inBrackets] = MAILBOX.exec(text.trim()) ?? []
  const address = inBrackets ?? text.trim()
  return isEmailAddress(address) && name.length <= MAX_NAME_LENGTH
    ? { name: name.trim(), address }
    : undefined
}
