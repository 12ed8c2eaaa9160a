import { useNavigate, useRouterState } from '@tanstack/react-router'

/** State of the page in the query of its URL, so that links reproduce it. */
export const useUrlState = <Name extends string>(): [
  Partial<Record<Name, string>>,
  (change: Partial<Record<Name, string>>) => void,
] => {
  // The router parses numbers as such.
  const texts = Object.entries(useRouterState().location.search).map(([name, value]) => [name, `${value}`])
  const search: Partial<Record<Name, string>> = Object.fromEntries(texts)
  const navigate = useNavigate()
  const set = (change: Partial<Record<Name, string>>) => {
    const next = Object.entries({ ...search, ...change }).filter(
      ([, value]) => value !== undefined && value !== '',
    )
    void navigate({ to: '.', search: Object.fromEntries(next) as never, replace: true, resetScroll: false })
  }
  return [search, set]
}
