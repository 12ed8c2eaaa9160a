type Theme = 'light' | 'dark'

export const currentTheme = (): Theme =>
  document.documentElement.dataset.theme === 'dark' ? 'dark' : 'light'

/** Shows light or dark, now and at the next visit. */
export const setTheme = (theme: Theme): void => {
  document.documentElement.dataset.theme = theme
  localStorage.setItem('theme', theme)
  dispatchEvent(new Event('themechange'))
}
