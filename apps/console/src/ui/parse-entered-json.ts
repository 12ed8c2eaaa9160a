/**
 * Parses JSON that the user entered.
 * @throws Error with a message for the user
 */
export const parseEnteredJson = (text: string, what: string): unknown => {
  try {
    return JSON.parse(text)
  } catch (error) {
    throw new Error(`${what} is not valid JSON: ${error instanceof Error ? error.message : error}`)
  }
}
