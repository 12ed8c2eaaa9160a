import { _, type FuncKeywordDefinition, str } from 'ajv'
import type { Ajv2020 } from 'ajv/dist/2020.js'

/**
 * Replaces `minLength` and `maxLength` of an Ajv instance by faster ones. They compare the number of UTF-16 code units first,
 * and count characters only when that does not decide.
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
