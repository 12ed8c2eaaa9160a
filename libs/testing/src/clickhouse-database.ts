/**
 * Runs one statement on a ClickHouse server and returns its output. `serverUrl` contains the credentials.
 * @throws Error with the response of the server when it fails
 */
export const executeOnClickHouse = async (serverUrl: string, statement: string): Promise<string> => {
  const { origin, username, password } = new URL(serverUrl)
  const response = await fetch(origin, {
    method: 'POST',
    headers: { 'X-ClickHouse-User': username, 'X-ClickHouse-Key': password },
    body: statement,
  })
  const text = await response.text()
  if (!response.ok) throw new Error(`ClickHouse answered ${response.status}: ${text}`)
  return text
}
