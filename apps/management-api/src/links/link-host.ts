import { parseDomain } from '../oidc/domains.ts'

/** The name of the DNS record is 9 characters longer, and names have at most 253. */
const MAX_LENGTH = 244

/**
 * A host as it is stored: lower case, Punycode, without the dot of the root. Undefined unless it is a name of two labels
 * at least; one with a port is none.
 */
export const parseLinkHost = (text: string): string | undefined => {
  const host = parseDomain(text)
  return host !== undefined && host.length <= MAX_LENGTH ? host : undefined
}
