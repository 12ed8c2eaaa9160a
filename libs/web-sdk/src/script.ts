import type { AutoTrack, Call, Consent, Options, Waymark } from './types.ts'
import { createWaymark } from './waymark.ts'

/** The script `w.js`: it starts by the attributes of its element, and makes the calls in the list `window.waymark`. */
const start = (script: HTMLScriptElement): void => {
  const own = window as Window & { waymark?: Waymark | Call[] }
  // Loaded twice, a page would be counted twice.
  if (own.waymark && !Array.isArray(own.waymark)) return
  const calls = own.waymark ?? []
  const waymark = createWaymark()
  own.waymark = waymark
  if (script.dataset.key) waymark.init(optionsOf(script, script.dataset.key))
  for (const call of calls) waymark.push(call)
}

const optionsOf = ({ dataset, src }: HTMLScriptElement, key: string): Options => ({
  key,
  host: dataset.host ?? new URL(src).origin,
  cookieless: dataset.cookieless !== undefined,
  consent: dataset.consent as Consent | undefined,
  dnt: dataset.dnt !== undefined,
  pageViews: dataset.pageViews !== 'off',
  track: (dataset.track ?? '').split(/\s+/) as AutoTrack[],
})

if (document.currentScript) start(document.currentScript as HTMLScriptElement)
