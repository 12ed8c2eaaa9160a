/** Shell variables and their fields in `demo.json`. */
const FIELDS = {
  URL: 'baseUrl',
  PROJECT: 'projectId',
  KEY: 'apiKey',
  PUB_KEY: 'publicKey',
  EMAIL: 'email',
  PASSWORD: 'password',
} as const

/**
 * Assignments for sh, bash and zsh, from the text of a `demo.json`; `API` is the address of the project's resources.
 * @throws Error for invalid JSON or a missing field
 */
export const shellVariables = (demo: string): string => {
  const fields: unknown = JSON.parse(demo)
  const textOf = (field: string): string => {
    const value: unknown =
      typeof fields === 'object' && fields !== null ? Reflect.get(fields, field) : undefined
    if (typeof value !== 'string') throw new Error(`demo.json has no text in the field ${field}`)
    return value
  }
  const variables = Object.entries(FIELDS).map(([name, field]) => [name, textOf(field)] as const)
  const api = `${textOf('baseUrl')}/api/projects/${textOf('projectId')}`
  return [...variables, ['API', api] as const]
    .map(([name, value]) => `${name}=${quoteForShell(value)}\n`)
    .join('')
}

/** A text as one word of a shell command. */
export const quoteForShell = (text: string): string => `'${text.replaceAll("'", `'\\''`)}'`
