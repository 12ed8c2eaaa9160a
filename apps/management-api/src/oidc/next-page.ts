const CONSOLE = '/console'
const ANY_HOST = 'http://host.invalid'

/**
 * The path of a page of the console, such as `/console/p/…`. Undefined unless `next` is a path within the projects of the
 * console, because it may come from a stranger's link.
 */
export const nextPage = (next: string | undefined | null): string | undefined => {
  if (!next?.startsWith('/p/')) return undefined
  const url = URL.parse(`${CONSOLE}${next}`, ANY_HOST)
  // Parsed, so that dot segments and backslashes are resolved as a browser would.
  if (url?.origin !== ANY_HOST || !url.pathname.startsWith(`${CONSOLE}/p/`)) return undefined
  return `${url.pathname}${url.search}`.slice(CONSOLE.length)
}
