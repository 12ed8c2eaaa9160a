import type { Page } from './types.ts'

const PREFIX = 'wm.'

/** Texts by name, in localStorage or, where that is not possible or not allowed, in memory. */
export type Store = {
  get(name: string): string | undefined
  set(name: string, value: string): void
  remove(name: string): void
  /** The names that begin with `start`, in order. */
  names(start: string): string[]
  /** Begins to use localStorage, which gets what is in memory; or stops, and deletes everything. */
  persist(on: boolean): void
}

/** @param persistent whether localStorage may be used from the start */
export const createStore = (page: Page, persistent: boolean): Store => {
  const memory = new Map<string, string>()
  let storage: Storage | undefined

  /** Browsers throw for blocked and for full storage. */
  const attempt = <T>(work: (storage: Storage) => T): T | undefined => {
    try {
      return storage && work(storage)
    } catch {
      return undefined
    }
  }
  const open = (): void => {
    try {
      storage = page.localStorage
    } catch {}
  }
  const stored = (start: string): string[] =>
    attempt((one) => Object.keys(one).filter((name) => name.startsWith(PREFIX + start))) ?? []

  const store: Store = {
    get: (name) => memory.get(PREFIX + name) ?? attempt((one) => one.getItem(PREFIX + name)) ?? undefined,
    set: (name, value) => {
      const isStored = attempt((one) => {
        one.setItem(PREFIX + name, value)
        return true
      })
      if (isStored) memory.delete(PREFIX + name)
      else memory.set(PREFIX + name, value)
    },
    remove: (name) => {
      memory.delete(PREFIX + name)
      attempt((one) => one.removeItem(PREFIX + name))
    },
    names: (start) => {
      const held = [...memory.keys()].filter((name) => name.startsWith(PREFIX + start))
      return [...new Set([...held, ...stored(start)])].map((name) => name.slice(PREFIX.length)).sort()
    },
    persist: (on) => {
      open()
      if (on) {
        for (const [name, value] of memory) store.set(name.slice(PREFIX.length), value)
        return
      }
      for (const name of store.names('')) store.remove(name)
      storage = undefined
    },
  }
  if (persistent) open()
  return store
}
