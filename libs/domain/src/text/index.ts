export { escapeHtml } from './escape-html.ts'
export { numberText, signedText } from './number-text.ts'
