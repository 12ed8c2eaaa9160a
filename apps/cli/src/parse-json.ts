import { parseNumbers, withIntegersAsText } from '@waymark/contracts/number-source'

/**
 * Parses JSON with events. Integers that a number cannot hold, such as ids of 64 bits, become text with all their digits.
 * @throws SyntaxError when the text is not JSON
 */
export const parseEventJson = (text: string): unknown => {
  const value = parseNumbers(text)
  if (typeof value !== 'number') return withIntegersAsText(value)
  // A value alone is in no object that could note its digits.
  const [number] = withIntegersAsText(parseNumbers(`[${text}]`) as unknown[])
  return number
}
