import { useSyncExternalStore } from 'react'

type Theme = 'light' | 'dark'

export const currentTheme = (): Theme =>
  document.documentElement.dataset.theme === 'dark' ? 'dark' : 'light'

/** Shows light or dark, now and at the next visit. */
export const setTheme = (theme: Theme): void => {
  document.documentElement.dataset.theme = theme
  localStorage.setItem('theme', theme)
  dispatchEvent(new Event('themechange'))
}

const watch = (onChange: () => void): (() => void) => {
  addEventListener('themechange', onChange)
  return () => removeEventListener('themechange', onChange)
}

/** The theme that is shown, which other parts of the page and the system may change. */
export const useTheme = (): Theme => useSyncExternalStore(watch, currentTheme)
