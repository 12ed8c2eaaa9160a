/** What of a file is not imported, and why. */
export type Refused = { where: string; reason: string }
/** What was read from a file of another product. */
export type Imported<T> = { items: T[]; refused: Refused[] }

/** A part of a file that has no equivalent. The whole item is refused, so that it never means something else. */
export class Unsupported extends Error {}

export type JsonObject = Record<string, unknown>

export const isObject = (value: unknown): value is JsonObject =>
  typeof value === 'object' && value !== null && !Array.isArray(value)

/** A list of objects; empty for anything else. */
export const objectsIn = (value: unknown): JsonObject[] =>
  Array.isArray(value) ? value.filter(isObject) : []

/** Text that is not empty. */
export const textIn = (value: unknown): string | undefined =>
  typeof value === 'string' && value !== '' ? value : undefined

/** An id as text. Some products write numbers. */
export const idTextIn = (value: unknown): string | undefined =>
  typeof value === 'number' ? `${value}` : textIn(value)

/** Reads each item, and collects those that are not supported. */
export const readEach = <T>(
  all: readonly JsonObject[],
  nameOf: (one: JsonObject, index: number) => string,
  read: (one: JsonObject, index: number) => T,
): Imported<T> => {
  const imported: Imported<T> = { items: [], refused: [] }
  for (const [index, one] of all.entries()) {
    try {
      imported.items.push(read(one, index))
    } catch (error) {
      if (!(error instanceof Unsupported)) throw error
      imported.refused.push({ where: nameOf(one, index), reason: error.message })
    }
  }
  return imported
}
