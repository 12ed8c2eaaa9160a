import {
  type LinkTarget,
  type LinkUtm,
  type NewLink,
  utcOfTime,
  type ValidationItem,
} from '@waymark/contracts'
import { checkDestination, codeProblem } from '@waymark/domain'

/** The settable values of a link, normalized and with defaults. Times are in UTC with milliseconds. */
export type LinkValues = {
  destination: string
  startsAt: string | null
  expiresAt: string | null
  clickLimit: number | null
  expiredUrl: string | null
  campaign: string | null
  tags: string[]
  utm: LinkUtm
  forwardQuery: boolean
  externalId: string | null
  targets: LinkTarget[]
}
type Sent = Omit<NewLink, 'code' | 'domainId' | 'domain'>
type CheckedLink = { values: LinkValues } | { errors: ValidationItem[] }

/** Checks and normalizes the values of a link. `shortUrlPrefix`: with which the short URLs of its domain begin. */
export const checkLink = (sent: Sent, shortUrlPrefix: string): CheckedLink => {
  const errors: ValidationItem[] = []
  const destination = (field: string, text: string): string => {
    const checked = checkDestination(text)
    if ('problem' in checked) errors.push({ field, rule: 'destination', message: checked.problem })
    else if (isShortUrl(checked.url, shortUrlPrefix))
      errors.push({ field, rule: 'destination', message: 'is a short link itself' })
    return 'url' in checked ? checked.url : text
  }
  const values: LinkValues = {
    destination: destination('destination', sent.destination),
    startsAt: utcOfTime(sent.startsAt),
    expiresAt: utcOfTime(sent.expiresAt),
    clickLimit: sent.clickLimit ?? null,
    expiredUrl: sent.expiredUrl ? destination('expiredUrl', sent.expiredUrl) : null,
    campaign: sent.campaign ?? null,
    tags: sent.tags ?? [],
    utm: sent.utm ?? {},
    forwardQuery: sent.forwardQuery ?? false,
    externalId: sent.externalId ?? null,
    targets: (sent.targets ?? []).map((target, index) => ({
      ...target,
      destination: destination(`targets.${index}.destination`, target.destination),
    })),
  }
  const { startsAt, expiresAt } = values
  if (startsAt !== null && expiresAt !== null && expiresAt <= startsAt)
    errors.push({ field: 'expiresAt', rule: 'after', message: 'must be after startsAt' })
  return errors.length === 0 ? { values } : { errors }
}

/** Whether a URL begins with `prefix`, in any spelling of the scheme and host that reaches the same place. */
const isShortUrl = (text: string, prefix: string): boolean => {
  const [url, own] = [URL.parse(text), URL.parse(prefix)]
  if (url === null || own === null) return false
  return (
    nameOf(url) === nameOf(own) &&
    // Redirectors accept any port of a domain.
    (own.port === '' || url.port === own.port) &&
    url.pathname.startsWith(own.pathname)
  )
}

const nameOf = ({ hostname }: URL): string => hostname.replace(/\.$/, '')

/** The errors of a code that the client chose. */
export const codeErrors = (code: string): ValidationItem[] => {
  const problem = codeProblem(code)
  return problem ? [{ field: 'code', ...problem }] : []
}
