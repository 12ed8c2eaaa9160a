import { useNavigate, useRouterState } from '@tanstack/react-router'

/** Changes that follow each other within this time are one step of the browser's history, in ms. */
const ONE_STEP_MS = 1_000
let lastChangeAt = Number.NEGATIVE_INFINITY

/**
 * State of the page in the query of its URL, so that links reproduce it and the back button returns to it. With
 * `replace`, a change is no step of the browser's history, such as closing a dialog.
 */
export const useUrlState = <Name extends string>(): [
  Partial<Record<Name, string>>,
  (change: Partial<Record<Name, string>>, options?: { replace?: boolean }) => void,
] => {
  // The router parses numbers as such.
  const texts = Object.entries(useRouterState().location.search).map(([name, value]) => [name, `${value}`])
  const search: Partial<Record<Name, string>> = Object.fromEntries(texts)
  const navigate = useNavigate()
  const set = (change: Partial<Record<Name, string>>, { replace = false } = {}) => {
    const next = Object.entries({ ...search, ...change }).filter(
      ([, value]) => value !== undefined && value !== '',
    )
    const follows = performance.now() - lastChangeAt < ONE_STEP_MS
    lastChangeAt = performance.now()
    void navigate({
      ...{ to: '.', search: Object.fromEntries(next) as never, resetScroll: false },
      replace: replace || follows,
    })
  }
  return [search, set]
}
