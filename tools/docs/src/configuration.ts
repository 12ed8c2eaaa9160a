import { type ConfigSpec, type Variable, variablesOf } from '@waymark/service-kit'

/** Variables of the same subject. */
export type Section = { title: string; text?: string; spec: ConfigSpec }

/** The keywords of a variable's JSON schema. */
type Constraints = {
  type?: string
  const?: unknown
  anyOf?: Constraints[]
  items?: Constraints
  minimum?: number
  maximum?: number
  minLength?: number
  minItems?: number
  default?: unknown
  description?: string
}

/**
 * Renders the configuration as Markdown, with a table for each section. A variable has a row in its first section, and in
 * later ones only if it differs.
 */
export const describeConfiguration = (sections: readonly Section[]): string => {
  const described = new Map<string, string>()
  const parts = sections.flatMap(({ title, text, spec }) => {
    // Lower-case variables are set by other programs.
    const entries = variablesOf(spec).filter(({ variable }) => /^[A-Z]/.test(variable))
    const rows: string[] = []
    const known: string[] = []
    for (const entry of entries) {
      const row = rowFor(entry)
      if (described.get(entry.variable) === row) known.push(`\`${entry.variable}\``)
      else rows.push(row)
      if (!described.has(entry.variable)) described.set(entry.variable, row)
    }
    if (rows.length === 0) return []
    const table = ['| variable | value | default | |', '| --- | --- | --- | --- |', ...rows].join('\n')
    return [
      [
        `## ${title}`,
        ...(text === undefined ? [] : [text]),
        table,
        ...(known.length === 0 ? [] : [`As above: ${known.join(', ')}.`]),
      ].join('\n\n'),
    ]
  })
  return `${[INTRODUCTION, ...parts].join('\n\n')}\n`
}

const INTRODUCTION = `# Configuration

Every process reads its configuration from environment variables. At its start it reports all
invalid variables together. An empty variable counts as unset. Lists are separated by commas.
Instead of a variable \`NAME\` you can set \`NAME_FILE\` to the path of a file with the value, such as
a mounted secret. A file \`NAME\` in the directory \`SECRETS_DIR\` overrides both.

\`npm run docs:config\` generates this page from the schemas in the code.`

const rowFor = ({ variable, schema }: Variable): string => {
  const constraints: Constraints = schema
  const cells = [
    `\`${variable}\``,
    valuesOf(constraints),
    defaultOf(constraints),
    constraints.description ?? '',
  ]
  return `| ${cells.map((cell) => cell.replaceAll('|', '\\|')).join(' | ')} |`
}

const valuesOf = ({ type, anyOf, items, minimum, maximum }: Constraints): string => {
  if (anyOf) {
    const values = anyOf.map((option) => option.const).filter((value) => value !== '')
    return values.map((value) => `\`${value}\``).join(', ')
  }
  if (type === 'array') return `list of ${items?.type === 'string' ? 'texts' : `${items?.type}s`}`
  if (type === 'boolean') return '`true`, `false`'
  if (type !== 'integer' && type !== 'number') return 'text'
  if (minimum !== undefined && maximum !== undefined) return `${minimum} to ${maximum}`
  return minimum === undefined ? 'number' : `${minimum} or more`
}

const defaultOf = (constraints: Constraints): string => {
  const { default: value } = constraints
  if (value === undefined) return '**required**'
  if (value === '' || (Array.isArray(value) && value.length === 0)) return ''
  return `\`${value}\``
}
