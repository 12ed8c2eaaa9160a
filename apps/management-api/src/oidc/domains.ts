import { Resolver } from 'node:dns/promises'
import { canonicalDomain } from '@waymark/contracts/email-address'
import type { Platform } from '@waymark/service-kit'

/** The TXT records of a name; each record as its parts. */
export type ResolveTxt = (name: string) => Promise<string[][]>

const DNS_TIMEOUT_MS = 3_000
const PREFIX = 'waymark-domain='
const LABEL = /^[a-z0-9](?:[a-z0-9-]{0,61}[a-z0-9])?$/

/** A resolver that asks the name servers of the system, for at most 6 s. */
export const createTxtResolver = (): ResolveTxt => {
  const resolver = new Resolver({ timeout: DNS_TIMEOUT_MS, tries: 2 })
  return (name) => resolver.resolveTxt(name)
}

/** A domain in its canonical form; undefined unless it has two labels at least, and none that is too long. */
export const parseDomain = (text: string): string | undefined => {
  const domain = canonicalDomain(text) ?? ''
  const labels = domain.split('.')
  const isDomain = labels.length >= 2 && labels.every((label) => LABEL.test(label)) && /[a-z]$/.test(domain)
  return isDomain && domain.length <= 253 ? domain : undefined
}

/** The domain of an address, in its canonical form. */
export const domainOf = (email: string): string => {
  const domain = email.slice(email.lastIndexOf('@') + 1)
  return canonicalDomain(domain) ?? domain.toLowerCase()
}

/** The DNS record that proves control of a domain. */
export const recordOf = ({ domain, token }: { domain: string; token: string }) => ({
  recordName: `_waymark.${domain}`,
  recordValue: `${PREFIX}${token}`,
})

/** The errors of a name that does not exist, and of one without TXT records. */
const NO_RECORDS = new Set<unknown>(['ENOTFOUND', 'ENODATA'])

/** The values of the records of a domain; undefined when the name servers do not answer. */
export const readRecordValues = async (
  resolveTxt: ResolveTxt,
  domain: string,
): Promise<ReadonlySet<string> | undefined> => {
  const { recordName } = recordOf({ domain, token: '' })
  try {
    return new Set((await resolveTxt(recordName)).map((parts) => parts.join('')))
  } catch (error) {
    return NO_RECORDS.has((error as { code?: unknown } | undefined)?.code) ? new Set() : undefined
  }
}

/** Whether the record exists now. False also when the name servers do not answer. */
export const hasRecord = async (
  resolveTxt: ResolveTxt,
  domain: { domain: string; token: string },
): Promise<boolean> => {
  const values = await readRecordValues(resolveTxt, domain.domain)
  return values?.has(recordOf(domain).recordValue) ?? false
}

/** The domain of an address that a tenant has verified, if its record still exists. */
export const findVerifiedDomain = async (
  { db, resolveTxt }: Pick<Platform, 'db'> & { resolveTxt: ResolveTxt },
  tenantId: string,
  email: string,
) => {
  const found = await db.prisma.tenantDomain.findFirst({
    where: { tenantId, domain: domainOf(email), verifiedAt: { not: null } },
  })
  return found && (await hasRecord(resolveTxt, found)) ? found : undefined
}
