import type { AutoTrack, Page, Properties } from './types.ts'

const DOWNLOAD =
  /\.(pdf|zip|7z|rar|gz|tgz|tar|dmg|pkg|exe|msi|apk|deb|rpm|iso|csv|xlsx?|docx?|pptx?|odt|ods|rtf|txt|mp3|wav|mp4|mov|avi|epub)$/i

type Track = (name: string, properties: Properties) => void

/** Tracks clicks and forms of the whole page, also of elements that are added later. Values of inputs are never read. */
export const autoTrack = ({ document, location }: Page, kinds: readonly AutoTrack[], track: Track): void => {
  const isOn = (kind: AutoTrack): boolean => kinds.includes(kind)

  const marked = (event: Event, isForm: boolean): void => {
    const element = closest(event, '[data-wm-event]')
    const name = element?.getAttribute('data-wm-event')
    if (element && name && (element.tagName === 'FORM') === isForm) track(name, dataOf(element))
  }

  document.addEventListener(
    'click',
    (event) => {
      if (isOn('events')) marked(event, false)
      const link = closest(event, 'a[href]') as HTMLAnchorElement | null
      const target = link && urlOf(link.href)
      if (!target || !/^https?:$/.test(target.protocol)) return
      // Without the query, which may hold secrets.
      const href = target.origin + target.pathname
      const extension = DOWNLOAD.exec(target.pathname)?.[1]
      if (isOn('downloads') && (extension || link.hasAttribute('download')))
        track('file_download', { href, ...(extension && { extension: extension.toLowerCase() }) })
      else if (isOn('outbound') && target.host !== location.host) track('outbound_click', { href })
    },
    true,
  )
  document.addEventListener(
    'submit',
    (event) => {
      if (isOn('events')) marked(event, true)
      const form = event.target as Element | null
      if (!isOn('forms') || !form) return
      // Attributes, because an input named `id` hides the property of the form.
      const action = urlOf(form.getAttribute('action') ?? location.href, location.href)
      track('form_submit', {
        form: form.getAttribute('id') ?? form.getAttribute('name') ?? undefined,
        action: action && action.origin + action.pathname,
      })
    },
    true,
  )
}

const closest = ({ target }: Event, selector: string): Element | null =>
  target && 'closest' in target ? (target as Element).closest(selector) : null

const urlOf = (text: string, base?: string): URL | undefined => {
  try {
    return new URL(text, base)
  } catch {
    return undefined
  }
}

/** The attributes `data-wm-…` of an element as properties: `data-wm-plan-name` is `plan_name`. */
const dataOf = (element: Element): Properties =>
  Object.fromEntries(
    [...element.attributes]
      .filter(({ name }) => name.startsWith('data-wm-') && name !== 'data-wm-event')
      .map(({ name, value }) => [name.slice('data-wm-'.length).replace(/-/g, '_'), value]),
  )
