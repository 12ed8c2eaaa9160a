import { useEffect } from 'react'

/** Names the page in the browser's tab and history, and for screen readers. */
export const usePageTitle = (title: string): void => {
  useEffect(() => {
    document.title = `${title} · Waymark`
  }, [title])
}
