import { type NavigateOptions, useNavigate, useRouter, useRouterState } from '@tanstack/react-router'
import { type RefObject, useEffect, useRef } from 'react'
import { useMay } from './session.ts'
import type { Role } from './types.ts'

/** Changes of a page that follow each other within this time are one step of the browser's history, in ms. */
const ONE_STEP_MS = 1_000
let last = { path: '', at: Number.NEGATIVE_INFINITY }

/**
 * State of the page in the query of its URL, so that links reproduce it and the back button returns to it. With
 * `replace`, a change is no step of the browser's history, such as closing a dialog. A change after the user has opened
 * another page is ignored.
 */
export const useUrlState = <Name extends string>(): [
  Partial<Record<Name, string>>,
  (change: Partial<Record<Name, string>>, options?: { replace?: boolean }) => void,
] => {
  const { pathname: path, search: parameters } = useRouterState().location
  const search = textsOf(parameters)
  const navigate = useNavigate()
  const router = useRouter()
  const isOpen = useIsOpen()
  const set = (change: Partial<Record<Name, string>>, { replace = false } = {}) => {
    if (!isOpen.current) return
    const next = Object.entries({ ...textsOf(router.latestLocation.search), ...change }).filter(
      ([, value]) => value !== undefined && value !== '',
    )
    const at = performance.now()
    const follows = last.path === path && at - last.at < ONE_STEP_MS
    if (!replace) last = { path, at }
    void navigate({
      to: '.',
      search: Object.fromEntries(next) as never,
      resetScroll: false,
      replace: replace || follows,
    })
  }
  return [search, set]
}

// The router parses numbers as such.
const textsOf = <Name extends string>(parameters: object): Partial<Record<Name, string>> =>
  Object.fromEntries(Object.entries(parameters).map(([name, value]) => [name, `${value}`])) as Partial<
    Record<Name, string>
  >

/** Whether the component is still shown. A request may end after the user has opened another page. */
const useIsOpen = (): RefObject<boolean> => {
  const isOpen = useRef(false)
  useEffect(() => {
    isOpen.current = true
    return () => {
      isOpen.current = false
    }
  }, [])
  return isOpen
}

/** Opens another page, unless the user has left this one. */
export const useNavigateFromHere = (): ((to: NavigateOptions) => Promise<void>) => {
  const navigate = useNavigate()
  const isOpen = useIsOpen()
  return async (to) => {
    if (isOpen.current) await navigate(to)
  }
}

/**
 * The open dialog of the page by its name, as the parameter `open` of the URL. Opening one is a step of the browser's
 * history, closing it is none. For members below the role `atLeast`, none is open.
 */
export const useUrlDialog = <Name extends string>(
  atLeast: Role,
): [Name | undefined, open: (name: Name) => void, close: () => void] => {
  const [search, set] = useUrlState<'open'>()
  const may = useMay(atLeast)
  return [
    may ? (search.open as Name | undefined) : undefined,
    (name) => set({ open: name }),
    () => set({ open: '' }, { replace: true }),
  ]
}

/** The row whose details are open, as the parameter `row` of the URL. It is found among the rows that are loaded. */
export const useUrlRow = <T>(
  rows: readonly T[],
  keyOf: (row: T) => string,
): [T | undefined, open: (row: T) => void, close: () => void] => {
  const [search, set] = useUrlState<'row'>()
  return [
    search.row === undefined ? undefined : rows.find((row) => keyOf(row) === search.row),
    (row) => set({ row: keyOf(row) }),
    () => set({ row: '' }, { replace: true }),
  ]
}
