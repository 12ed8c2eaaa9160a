import type { ApiKeyScope } from '@waymark/contracts/api-key'
import { conditionalEffects, constantEffects, effectRequirements } from '@waymark/contracts/http/effects'
import { type Access, keyScopeOf, type Operation } from '@waymark/contracts/http/operation'
import { projectRoles } from '@waymark/contracts/project-role'
import { scopeAllows } from '@waymark/domain/key'

const COLUMNS = ['anyone', 'any session', ...projectRoles, 'keys'] as const

/** Renders `docs/permissions.md`: the permissions of all operations, from `access`. */
export const renderPermissions = (operations: readonly Operation[]): string => {
  const byTag = Map.groupBy(operations, ({ tag }) => tag)
  const sections = [...byTag].map(([tag, ofTag]) => section(tag, ofTag))
  return `${[HEAD, effectsSection(operations), ...sections].join('\n\n')}\n`
}

const HEAD = `# Permissions

Generated from the operations in \`libs/contracts/src/http\`; do not edit by hand. Run
\`npx vitest run --project integration apps/management-api/tests/permissions.test.ts --update\` to
update it. The same test calls each operation of the management API without credentials, as a user
of another project, with each role and with a key of each scope, and compares the answers with a
table of its own.

- **any session**: every signed-in user, by a session or a personal access token. The operation may
  restrict further by role.
- **no token**: personal access tokens are refused.
- **viewer** to **owner**: a member of the project with that role. Users of other projects get 404.
- **keys**: API keys with one of these scopes.`

const effectsSection = (operations: readonly Operation[]): string => {
  const rows = Object.entries(effectRequirements).map(([effect, { meaning, accessTokens }]) => {
    const declaring = operations.flatMap(({ id, effects }) => {
      if (constantEffects(effects).some((one) => one === effect)) return [id]
      const when = conditionalEffects(effects).filter((one) => one.effect === effect)
      return when.map(({ described }) => `${id} (${described})`)
    })
    return `| ${meaning} | ${accessTokens} | ${declaring.join(', ')} |`
  })
  return [
    `## Effects that need a recent sign-in

A session needs a sign-in, or a [proof](accounts.md#recent-sign-in), of the last 10 minutes for an
operation that has one of these effects. Some requests of an operation have it and others do not;
these are in parentheses. Creating a key or an access token is such an effect, so that neither needs
more than its scopes.
`,
    '| effect | access tokens | operations |',
    '| --- | --- | --- |',
    ...rows,
  ].join('\n')
}

const section = (tag: string, operations: readonly Operation[]): string =>
  [
    `## ${tag}\n`,
    `| operation | | ${COLUMNS.join(' | ')} |`,
    `| --- | --- | ${COLUMNS.map((column) => (column === 'keys' ? '---' : ':-:')).join(' | ')} |`,
    ...operations.map(row),
  ].join('\n')

const row = ({ id, method, path, access }: Operation): string => {
  const cells = COLUMNS.map((column) => {
    if (column === 'keys') return keysOf(access)
    if (!allows(access, column)) return ''
    return column !== 'anyone' && refusesTokens(access) ? '✓ (no token)' : '✓'
  })
  return `| ${id} | \`${method.toUpperCase()} ${path}\` | ${cells.join(' | ')} |`
}

const refusesTokens = (access: Access): boolean =>
  (access.by === 'session' || access.by === 'project') && access.tokens === false

const allows = (access: Access, column: Exclude<(typeof COLUMNS)[number], 'keys'>): boolean => {
  if (access.by === 'anyone') return true
  if (access.by === 'key' || column === 'anyone') return false
  if (access.by === 'session' || access.by === 'session-or-key') return true
  return column !== 'any session' && projectRoles.indexOf(column) >= projectRoles.indexOf(access.role)
}

const MANAGING: readonly ApiKeyScope[] = ['manage:read', 'manage:write', 'manage:admin']

const keysOf = (access: Access): string => {
  if (access.by === 'anyone' || access.by === 'session') return ''
  const needed = access.by === 'project' ? keyScopeOf(access) : access.scope
  if (needed === null) return ''
  const sufficient = MANAGING.includes(needed)
    ? MANAGING.filter((scope) => scopeAllows([scope], needed))
    : [needed, ...(access.by === 'key' && access.orScope ? [access.orScope] : [])]
  return sufficient.map((scope) => `\`${scope}\``).join(', ')
}
