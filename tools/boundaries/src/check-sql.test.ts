import { mkdir, mkdtemp, rm, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import path from 'node:path'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { checkSql } from './check-sql.ts'

let folder: string
beforeAll(async () => {
  folder = await mkdtemp(path.join(tmpdir(), 'sql-'))
})
afterAll(() => rm(folder, { recursive: true }))

/** The violations of a workspace that holds one file. */
const violationsOf = async (file: string, source: string) => {
  const root = await mkdtemp(path.join(folder, 'tree-'))
  await mkdir(path.dirname(path.join(root, file)), { recursive: true })
  await writeFile(path.join(root, file), source)
  return checkSql(root)
}

const READ = "const READ = 'SELECT id FROM core.users'\n"

describe('SQL', () => {
  it.each([
    ['in a string', READ],
    ['in a template', 'const text = `INSERT INTO core.users (id) VALUES ($1)`\n'],
    ['around a value of a template', `const text = \`SELECT \${columns} FROM core.users\`\n`],
    ['after a value of a template', `const text = \`\${begin} WHERE id = $1\`\n`],
    ['that updates', "const text = 'UPDATE core.users u SET name = $1'\n"],
    ['that updates an alias', "const text = 'UPDATE core.users AS u SET name = $1'\n"],
    ['that deletes', "run('DELETE FROM core.users')\n"],
    ['that creates', "run('CREATE TABLE users (id uuid)')\n"],
    ['that is part of a statement', "const order = 'ORDER BY id'\n"],
    ['of Prisma', 'prisma.$queryRaw<Row[]>`select 1`\n'],
    ['of Prisma that writes', 'tx.$executeRaw`call rebuild()`\n'],
    ['of Prisma that is part of a statement', 'const part = Prisma.sql`id = 1`\n'],
  ])('is refused %s', async (_, source) => {
    expect(await violationsOf('apps/gateway/src/users.ts', source)).toMatchObject([
      { rule: 'sql-is-in-queries-files', from: 'apps/gateway/src/users.ts:1' },
    ])
  })

  it.each([
    'apps/gateway/src/accounts/users.ts',
    'apps/console/src/users.tsx',
    'libs/pipeline/src/users.ts',
    'libs/event-store/src/duckdb/file.ts',
  ])('is refused in %s', async (file) => {
    expect(await violationsOf(file, READ)).toHaveLength(1)
  })

  it.each([
    'apps/gateway/src/user-queries.ts',
    'apps/gateway/src/users.test.ts',
    'apps/gateway/tests/users.ts',
    'libs/event-store/src/duckdb/dialect.ts',
    'libs/database/src/migrate.ts',
    'libs/testing/src/test-database.ts',
    'tools/bench/src/users.ts',
  ])('is allowed in %s', async (file) => {
    expect(await violationsOf(file, READ)).toEqual([])
  })

  it('is reported with its line and its text', async () => {
    expect(await violationsOf('apps/gateway/src/users.ts', `\n\n${READ}`)).toEqual([
      {
        rule: 'sql-is-in-queries-files',
        from: 'apps/gateway/src/users.ts:3',
        to: "'SELECT id FROM core.users'",
      },
    ])
  })

  it('is reported once for each statement', async () => {
    expect(await violationsOf('apps/gateway/src/users.ts', READ + READ)).toHaveLength(2)
  })

  it.each([
    ['comments', `// SELECT id FROM core.users\n/** DELETE FROM core.users */\n`],
    ['words', "const text = 'Select a project. Update the name, where needed.'\n"],
    ['names', 'const SELECT = 1\nexport const WHERE = SELECT\n'],
    ['types of Prisma', "type Tx = Pick<Prisma.TransactionClient, '$queryRaw' | '$executeRaw'>\n"],
  ])('is not found in %s', async (_, source) => {
    expect(await violationsOf('apps/gateway/src/users.ts', source)).toEqual([])
  })

  it('is refused when it compares what is due with a present that is not rounded', async () => {
    const due = 'const DUE = `SELECT id FROM jobs\nWHERE due_at <= now()`\n'
    expect(await violationsOf('apps/gateway/src/job-queries.ts', due)).toEqual([
      {
        rule: 'what-is-due-is-rounded',
        from: 'apps/gateway/src/job-queries.ts:2',
        to: 'WHERE due_at <= now()`',
      },
    ])
    const rounded = due.replace('now()', `\${NOW}`)
    expect(await violationsOf('apps/gateway/src/job-queries.ts', rounded)).toEqual([])
  })
})
