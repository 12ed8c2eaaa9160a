import { _, type FuncKeywordDefinition, str } from 'ajv'
import type { Ajv2020 } from 'ajv/dist/2020.js'

/**
 * Gives an Ajv another `minLength` and `maxLength`. Its own count the characters of every text; but a character has one
 * UTF-16 unit or two, so that the number of these, which every text knows, nearly always says enough.
 */
export const withTextLength = (ajv: Ajv2020): Ajv2020 =>
  ajv.removeKeyword('maxLength').removeKeyword('minLength').addKeyword(maxLength).addKeyword(minLength)

const minLength: FuncKeywordDefinition = {
  keyword: 'minLength',
  type: 'string',
  schemaType: 'number',
  before: 'pattern',
  error: {
    message: ({ schemaCode }) => str`must NOT have fewer than ${schemaCode} characters`,
    params: ({ schemaCode }) => _`{limit: ${schemaCode}}`,
  },
  compile: (limit: number) => (text: string) =>
    text.length >= 2 * limit || (text.length >= limit && charactersIn(text) >= limit),
}

const maxLength: FuncKeywordDefinition = {
  keyword: 'maxLength',
  type: 'string',
  schemaType: 'number',
  before: 'pattern',
  error: {
    message: ({ schemaCode }) => str`must NOT have more than ${schemaCode} characters`,
    params: ({ schemaCode }) => _`{limit: ${schemaCode}}`,
  },
  compile: (limit: number) => (text: string) =>
    text.length <= limit || (text.length <= 2 * limit && charactersIn(text) <= limit),
}

const charactersIn = (text: string): number => {
  let characters = 0
  for (const _character of text) characters++
  return characters
}
