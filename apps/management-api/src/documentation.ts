import { createRequire } from 'node:module'
import { AppError, getDocs, getDocsFile, getOpenApi, openApiDocument, operations } from '@waymark/contracts'
import type { Route } from '@waymark/service-kit'
import type { RequestHandler } from 'express'
import packageJson from '../package.json' with { type: 'json' }

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

// The page works over plain HTTP as well, and styles itself as it goes.
const POLICY =
  "default-src 'self'; style-src 'self' 'unsafe-inline'; img-src 'self' data:; frame-ancestors 'none'"
const CACHE = 'public, max-age=3600'

/** What the API can do: as an OpenAPI document, and as a page to read and try it. */
export const documentationRoutes = (): Route[] => {
  let document: string | undefined
  const answerDocument: RequestHandler = (_req, res) => {
    document ??= JSON.stringify(openApiDocument(operations, packageJson.version))
    res.set('Access-Control-Allow-Origin', '*').type('json').send(document)
  }
  const answerFile: RequestHandler = (req, res, next) => {
    const { file } = req.params
    res.set('Cache-Control', CACHE)
    if (file === 'start.js') return void res.type('js').send(START)
    const found = UI_FILES.find((name) => name === file)
    if (!found) throw new AppError('not_found', 'Not found')
    // Called at the end of a file that was sent, too.
    res.sendFile(
      require.resolve(`swagger-ui-dist/${found}`),
      { cacheControl: false },
      (error) => error && next(error),
    )
  }
  return [
    { operation: getOpenApi, handlers: [answerDocument] },
    {
      operation: getDocs,
      handlers: [(_req, res) => void res.set('Content-Security-Policy', POLICY).type('html').send(PAGE)],
    },
    { operation: getDocsFile, handlers: [answerFile] },
  ]
}
