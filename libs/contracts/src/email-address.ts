import { domainToASCII } from 'node:url'

const MAX_ADDRESS_LENGTH = 254
/** Accounts may have longer ones, which some mail servers know. */
const MAX_LOCAL_LENGTH = 64
// Excludes all characters that separate or end addresses in headers and SMTP commands, even quoted. U+200C and U+200D join
// letters in domains of some scripts.
const ADDRESS = /^([^\s\p{C}@<>()[\]\\,;:"]+)@([^@]+)$/u
const IN_DOMAINS = /^(?:[^\s\p{C}@<>()[\]\\,;:"%/?#]|\u200c|\u200d)+$/u
const LABEL = '[a-z0-9](?:[a-z0-9-]*[a-z0-9])?'
const DOMAIN = new RegExp(`^(?:${LABEL}\\.)*${LABEL}$`)
/** A domain that needs no conversion except of its case. */
const PLAIN = /^(?!.*xn--)[\x21-\x7e]+$/i
const FINAL_DOT = /[.。．｡]$/u

/**
 * A domain as it is compared: lower case, in Punycode, without the dot of the root. `BÜCHER.example.` is
 * `xn--bcher-kva.example`. Undefined when it is not one.
 */
export const canonicalDomain = (text: string): string | undefined => {
  if (!IN_DOMAINS.test(text)) return undefined
  const given = text.replace(FINAL_DOT, '')
  const domain = PLAIN.test(given) ? given.toLowerCase() : domainToASCII(given)
  return DOMAIN.test(domain) ? domain : undefined
}

type Parts = { local: string; domain: string }

const partsOf = (text: string): Parts | undefined => {
  const [, local, spelled = ''] = ADDRESS.exec(text) ?? []
  const domain = canonicalDomain(spelled)
  if (local === undefined || domain === undefined) return undefined
  return local.length + 1 + domain.length <= MAX_ADDRESS_LENGTH ? { local, domain } : undefined
}

/** Whether text is a single email address by the limits of RFC 5321, without a display name. */
export const isEmailAddress = (text: string): boolean =>
  (partsOf(text)?.local.length ?? Number.POSITIVE_INFINITY) <= MAX_LOCAL_LENGTH

/**
 * An address as it is stored and compared: its domain in Punycode, all in lower case, because in practice no server is
 * case-sensitive. Spellings of one mailbox have the same. Undefined when the text without spaces around it is no address.
 */
export const canonicalAddress = (text: string): string | undefined => {
  const parts = partsOf(text.trim())
  return parts && `${parts.local.normalize().toLowerCase().normalize()}@${parts.domain}`
}

/** An address as mail servers get it: its domain in Punycode. Undefined when it is not one. */
export const deliverableAddress = (text: string): string | undefined => {
  const parts = partsOf(text)
  return parts && `${parts.local.normalize()}@${parts.domain}`
}
