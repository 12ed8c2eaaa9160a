import { useProjectId } from '../api/session.ts'
import { CodeBlock } from './code.tsx'

/** A text that a shell passes on as it is. */
const quote = (text: string): string => `'${text.replaceAll("'", `'\\''`)}'`

/** A curl command for a path of the API. `key` says which key it needs; without `body` it is a GET. */
export const curlCommand = (path: string, key: string, body?: object): string =>
  body === undefined
    ? `curl ${quote(location.origin + path)} \\\n  -H 'X-API-Key: <${key}>'`
    : `curl ${quote(location.origin + path)} \\
  -H 'X-API-Key: <${key}>' -H 'Content-Type: application/json' \\
  -d ${quote(JSON.stringify(body))}`

/** A command that does by API what the page does, such as creating the first item of an empty list. */
export const ApiCommand = ({
  does,
  resource,
  body,
  scope = 'manage:write',
}: {
  /** Completes "Command that". */
  does: string
  /** The path below the project. */
  resource: string
  body: object
  scope?: 'manage:write' | 'manage:admin'
}) => {
  const projectId = useProjectId()
  const path = `/api/projects/${projectId}/${resource}`
  return (
    <CodeBlock label={`Command that ${does}`} text={curlCommand(path, `key with the scope ${scope}`, body)} />
  )
}
