import { getDocs, getDocsFile, getOpenApi } from '@waymark/contracts'
import type { Example } from './example.ts'

export const documentationExamples: Example[] = [
  { operation: getOpenApi, good: () => ({}) },
  { operation: getDocs, good: () => ({}) },
  { operation: getDocsFile, good: () => ({ params: { file: 'swagger-ui.css' } }) },
]
