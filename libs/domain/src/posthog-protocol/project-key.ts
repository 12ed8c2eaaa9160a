/** The key in a body: `api_key`, `token` or `properties.token` of it or of its first message. */
export const postHogKeyIn = (body: unknown): string | undefined => {
  if (Array.isArray(body)) return body.length === 0 ? undefined : postHogKeyIn(body[0])
  const { api_key, token, properties } = membersOf(body)
  return [api_key, token, membersOf(properties).token].find((key) => typeof key === 'string')
}

const membersOf = (value: unknown): { api_key?: unknown; token?: unknown; properties?: unknown } =>
  typeof value === 'object' && value !== null && !Array.isArray(value) ? value : {}
