let count = 0

/** A new id. Those of one page are in the order of their creation. */
export const newId = (now: number): string => {
  const random = crypto.getRandomValues(new Uint8Array(12))
  const hex = [...random].map((byte) => byte.toString(16).padStart(2, '0')).join('')
  return `${now.toString(36)}-${(count++ % 46_656).toString(36).padStart(3, '0')}-${hex}`
}

/** When an id was created, in ms. */
export const timeOfId = (id: string): number => Number.parseInt(id, 36)
