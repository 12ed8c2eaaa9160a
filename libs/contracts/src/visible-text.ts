import type { FuncKeywordDefinition } from 'ajv'

/** A keyword of schemas: a string that is not empty must have a visible character. */
export const VISIBLE_KEYWORD = 'x-visible'

// Default_Ignorable_Code_Point: zero-width and bidirectional controls, soft hyphens, fillers, variation selectors, tags.
// U+2800 is the blank Braille pattern, and U+FFF9 to U+FFFB are annotation controls.
const VISIBLE = /[^\s\p{Cc}\p{Default_Ignorable_Code_Point}\u2800\ufff9-\ufffb]/u

/** Whether a text has a character that people can see. */
export const hasVisibleCharacter = (text: string): boolean => VISIBLE.test(text)

export const visibleKeyword: FuncKeywordDefinition = {
  keyword: VISIBLE_KEYWORD,
  type: 'string',
  schemaType: 'boolean',
  compile: (required: boolean) => (text: string) => !required || text === '' || hasVisibleCharacter(text),
}
