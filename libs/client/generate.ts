// Generates the types of the API from the OpenAPI document of this checkout.
import { mkdirSync, readFileSync, writeFileSync } from 'node:fs'
import path from 'node:path'
import { openApiDocument } from '@waymark/contracts/http/openapi'
import { operations } from '@waymark/contracts/http/operations'
import openapiTS, { astToString } from 'openapi-typescript'

const file = path.join(import.meta.dirname, 'src/generated/api.d.ts')

const readIfThere = (): string => {
  try {
    return readFileSync(file, 'utf8')
  } catch {
    return ''
  }
}

// The pages for browsers are no part of a client.
const forPrograms = operations.filter(({ tag }) => tag !== 'Documentation')
const text = astToString(await openapiTS(JSON.stringify(openApiDocument(forPrograms, '0'))))
mkdirSync(path.dirname(file), { recursive: true })
// An unchanged file keeps its modification time, so that type checking is incremental.
if (readIfThere() !== text) writeFileSync(file, text)
