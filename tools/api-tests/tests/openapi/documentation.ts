import { getDocs, getDocsFile, getIndex, getOpenApi } from '@waymark/contracts/http/documentation'
import type { Example } from './example.ts'

export const documentationExamples: Example[] = [
  {
    operation: getIndex,
    good: () => ({}),
    others: { 302: () => ({ headers: { Accept: 'text/html' } }) },
  },
  { operation: getOpenApi, good: () => ({}) },
  { operation: getDocs, good: () => ({}) },
  { operation: getDocsFile, good: () => ({ params: { file: 'swagger-ui.css' } }) },
]
