import type { LinkCard, LinkTarget, LinkUtm, LinkVariant, NewLink } from '@waymark/contracts/http/links'
import type { ValidationItem } from '@waymark/contracts/http/track-result'
import { utcOfTime } from '@waymark/contracts/rfc3339'
import { checkDestination, codeProblem } from '@waymark/domain/link'

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
  og: LinkCard | null
  variants: LinkVariant[]
  targets: LinkTarget[]
}
type Sent = Omit<NewLink, 'code' | 'domainId' | 'domain' | 'password'>
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
  const card = (og: LinkCard | null | undefined): LinkCard | null => {
    if (!og?.image) return og ?? null
    const checked = checkDestination(og.image)
    if ('problem' in checked)
      errors.push({ field: 'og.image', rule: 'destination', message: checked.problem })
    else if (!checked.url.startsWith('https://'))
      errors.push({ field: 'og.image', rule: 'destination', message: 'is not an https address' })
    return 'url' in checked ? { ...og, image: checked.url } : og
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
    og: card(sent.og),
    variants: (sent.variants ?? []).map((variant, index) => ({
      ...variant,
      destination: destination(`variants.${index}.destination`, variant.destination),
    })),
    targets: (sent.targets ?? []).map((target, index) => ({
      ...target,
      destination: destination(`targets.${index}.destination`, target.destination),
    })),
  }
  const { startsAt, expiresAt } = values
  if (startsAt !== null && expiresAt !== null && expiresAt <= startsAt)
    errors.push({ field: 'expiresAt', rule: 'after', message: 'must be after startsAt' })
  errors.push(...variantErrors(values.variants))
  return errors.length === 0 ? { values } : { errors }
}

const variantErrors = (variants: readonly LinkVariant[]): ValidationItem[] => {
  const keys = variants.map(({ key }) => key)
  const repeated = keys.findIndex((key, index) => keys.indexOf(key) < index)
  if (repeated !== -1)
    return [{ field: `variants.${repeated}.key`, rule: 'unique', message: 'is the key of another variant' }]
  if (variants.length > 0 && variants.every(({ weight }) => weight === 0))
    return [{ field: 'variants', rule: 'weight', message: 'must have a weight above 0 at least once' }]
  return []
}

/** Whether a URL begins with `prefix`, in any spelling of the scheme and host that reaches the same place. */
const isShortUrl = (text: string, prefix: string): boolean => {
  const [url, own] = [URL.parse(text), URL.parse(prefix)]
  if (url === null || own === null) return false
  return (
    nameOf(url) === nameOf(own) &&
    // Redirectors accept any port of a domain.
    (own.port === '' || url.port === own.port) &&
    // Redirectors ignore the case of `/s/`.
    url.pathname.toLowerCase().startsWith(own.pathname.toLowerCase())
  )
}

const nameOf = ({ hostname }: URL): string => hostname.replace(/\.$/, '')

/** The errors of a code that the client chose. */
export const codeErrors = (code: string): ValidationItem[] => {
  const problem = codeProblem(code)
  return problem ? [{ field: 'code', ...problem }] : []
}
