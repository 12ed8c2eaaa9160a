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

type Described = { paths: Record<string, Record<string, { responses?: Record<string, unknown> }>> }

// Only the operations that the console calls, with their successful responses.
const document: Described = JSON.parse(JSON.stringify(openApiDocument(operations, '0')))
for (const [place, methods] of Object.entries(document.paths)) {
  if (!place.startsWith('/api/') || place.startsWith('/api/v1/')) delete document.paths[place]
  for (const { responses = {} } of Object.values(methods))
    for (const status of Object.keys(responses)) if (!status.startsWith('2')) delete responses[status]
}
const text = astToString(await openapiTS(JSON.stringify(document)))
mkdirSync(path.dirname(file), { recursive: true })
// An unchanged file keeps its modification time, so that type checking is incremental.
if (readIfThere() !== text) writeFileSync(file, text)
