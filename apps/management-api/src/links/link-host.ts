import { domainToASCII } from 'node:url'
import { parseDomain } from '../oidc/domains.ts'

/** The name of the DNS record is 9 characters longer, and names have at most 253. */
const MAX_LENGTH = 244
// Otherwise the parser would decode, split or drop them.
const NOT_IN_HOSTS = /[\s%/\\?#@:[\]]/

/**
 * A host as it is stored: lower case, Punycode, without the dot of the root. Undefined unless it is a name of two labels
 * at least; one with a port is none.
 */
export const parseLinkHost = (text: string): string | undefined => {
  if (NOT_IN_HOSTS.test(text)) return undefined
  const host = parseDomain(domainToASCII(text.replace(/\.$/, '')))
  return host !== undefined && host.length <= MAX_LENGTH ? host : undefined
}
