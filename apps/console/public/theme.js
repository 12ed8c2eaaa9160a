// Runs before the first paint, so that the page never flashes in the other mode.
;(() => {
  const system = matchMedia('(prefers-color-scheme: dark)')
  const show = () => {
    const chosen = localStorage.getItem('theme')
    const dark = chosen === 'dark' || (chosen !== 'light' && system.matches)
    document.documentElement.dataset.theme = dark ? 'dark' : 'light'
  }
  show()
  system.addEventListener('change', () => {
    show()
    dispatchEvent(new Event('themechange'))
  })
})()
