import { useEffect, useState } from 'react'

/** How long typing must pause before the text is used, in ms. */
export const TYPING_PAUSE_MS = 300

/** The value once it has not changed for a moment. Compared by identity, so objects must be kept between renders. */
export const useDebounced = <T>(value: T): T => {
  const [settled, setSettled] = useState(value)
  useEffect(() => {
    const timer = setTimeout(() => setSettled(value), TYPING_PAUSE_MS)
    return () => clearTimeout(timer)
  }, [value])
  return settled
}
