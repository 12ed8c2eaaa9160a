/** Bytes of JSON to read at once. Parsing more would delay other requests, of which several may do the same. */
const BYTES_PER_READ = 128 * 1024
/** Records of the first read, while their size is unknown. They may have 32 KiB each. */
const FIRST_READ = 5

/** How many records to read at once, at most `max`. */
export type ReadSize = {
  /** For the next read, from the average size of the records of the previous one. */
  records: () => number
  /** Call it after each read, with the number of its records and the bytes of their JSON. */
  note: (records: number, bytes: number) => void
}

/** Adapts the number of records per read to their size: few large ones, or many small ones. */
export const createReadSize = (max: number): ReadSize => {
  let next = Math.min(FIRST_READ, max)
  return {
    records: () => next,
    note: (records, bytes) => {
      if (records === 0) return
      const fitting = Math.floor((BYTES_PER_READ * records) / Math.max(bytes, 1))
      // Larger records may follow small ones, so the number grows step by step.
      next = Math.max(1, Math.min(fitting, next * GROWTH, max))
    },
  }
}

const GROWTH = 5
