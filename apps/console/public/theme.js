// Runs before the first paint, so that the page never flashes in the other mode.
;(() => {
  const system = matchMedia('(prefers-color-scheme: dark)')
  // A page in a frame of another site may have no storage.
  const stored = () => {
    try {
      return localStorage.getItem('theme')
    } catch {
      return null
    }
  }
  const show = () => {
    const chosen = stored()
    const dark = chosen === 'dark' || (chosen !== 'light' && system.matches)
    document.documentElement.dataset.theme = dark ? 'dark' : 'light'
  }
  show()
  system.addEventListener('change', () => {
    show()
    dispatchEvent(new Event('themechange'))
  })
})()
