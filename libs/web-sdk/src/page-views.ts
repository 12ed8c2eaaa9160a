import type { Page } from './types.ts'

/** Calls `onView` for the page, and whenever the address changes without a new page. A changed fragment is no new page. */
export const watchPageViews = (page: Page, onView: () => void): void => {
  const { document, history, location } = page
  let shown: string | undefined

  const view = (): void => {
    const address = location.origin + location.pathname + location.search
    if (address === shown) return
    shown = address
    onView()
  }
  for (const name of ['pushState', 'replaceState'] as const) {
    const change = history[name].bind(history)
    history[name] = (...args) => {
      change(...args)
      view()
    }
  }
  page.addEventListener('popstate', view)
  page.addEventListener('pageshow', ({ persisted }) => {
    if (!persisted) return
    // The page comes back from the cache of the browser.
    shown = undefined
    view()
  })
  // A page that is prepared in advance may never be seen.
  if ((document as { prerendering?: boolean }).prerendering)
    document.addEventListener('prerenderingchange', view, { once: true })
  else view()
}
