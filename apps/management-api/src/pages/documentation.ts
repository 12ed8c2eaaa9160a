import { createRequire } from 'node:module'
import { AppError } from '@waymark/contracts/app-error'
import { getDocs, getDocsFile, getOpenApi } from '@waymark/contracts/http/documentation'
import { openApiDocument } from '@waymark/contracts/http/openapi'
import { operations } from '@waymark/contracts/http/operations'
import { type Route, route } from '@waymark/service-kit'
import packageJson from '../../package.json' with { type: 'json' }

const require = createRequire(import.meta.url)

const PAGE = `<!doctype html>
<html lang="en">
<meta charset="utf-8">
<meta name="viewport" content="width=device-width, initial-scale=1">
<title>Waymark API</title>
<link rel="stylesheet" href="/docs/swagger-ui.css">
<div id="docs"></div>
<script src="/docs/swagger-ui-bundle.js"></script>
<script src="/docs/start.js"></script>
`
const START = 'SwaggerUIBundle({ url: "/openapi.json", dom_id: "#docs", deepLinking: true })\n'
const UI_FILES = ['swagger-ui.css', 'swagger-ui-bundle.js']

// Swagger UI sets inline styles, and the page must work over plain HTTP.
const POLICY =
  "default-src 'self'; style-src 'self' 'unsafe-inline'; img-src 'self' data:; frame-ancestors 'none'"
const CACHED = { 'Cache-Control': 'public, max-age=3600' }

/** The OpenAPI document, and a page to read and try it. */
export const documentationRoutes = (): Route[] => {
  let document: string | undefined
  return [
    route(getOpenApi, () => {
      document ??= JSON.stringify(openApiDocument(operations, packageJson.version))
      return {
        headers: { 'Access-Control-Allow-Origin': '*' },
        type: 'application/json; charset=utf-8',
        body: document,
      }
    }),
    route(getDocs, () => ({
      headers: { 'Content-Security-Policy': POLICY },
      type: 'text/html; charset=utf-8',
      body: PAGE,
    })),
    route(getDocsFile, ({ params: { file } }) => {
      if (file === 'start.js') return { headers: CACHED, type: 'text/javascript; charset=utf-8', body: START }
      const found = UI_FILES.find((name) => name === file)
      if (!found) throw new AppError('not_found', 'Not found')
      return { headers: CACHED, file: require.resolve(`swagger-ui-dist/${found}`) }
    }),
  ]
}
