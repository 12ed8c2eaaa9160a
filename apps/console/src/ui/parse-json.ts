/**
 * The value of what somebody entered as JSON.
 * @throws Error in words for that person
 */
export const parseJson = (text: string, what: string): unknown => {
  try {
    return JSON.parse(text)
  } catch (error) {
    throw new Error(`${what} is not valid JSON: ${error instanceof Error ? error.message : error}`)
  }
}
