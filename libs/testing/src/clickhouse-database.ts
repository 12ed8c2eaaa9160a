/**
 * Runs one statement on a ClickHouse server and answers its output; `serverUrl` holds the user's name and password.
 * @throws Error with what the server answers when it refuses
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
