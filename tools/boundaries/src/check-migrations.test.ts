import { mkdir, mkdtemp, rm, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import path from 'node:path'
import { describe, expect, it, onTestFinished } from 'vitest'
import { checkMigrations, problemsIn } from './check-migrations.ts'

const rulesOf = (sql: string): string[] => problemsIn(sql, '0.3.0').map(({ rule }) => rule)

describe('a migration', () => {
  it.each([
    [
      'adds a table with an index',
      'CREATE TABLE "a"."new" (id INT NOT NULL); CREATE INDEX i ON "a"."new"(id);',
    ],
    ['adds a nullable column', 'ALTER TABLE "a"."b" ADD COLUMN "c" TEXT, ADD COLUMN "d" JSONB;'],
    ['adds a column with a constant', 'ALTER TABLE "a"."b" ADD COLUMN "c" BOOLEAN NOT NULL DEFAULT false;'],
    ['adds an index concurrently', 'CREATE INDEX CONCURRENTLY IF NOT EXISTS i ON a.b (c);'],
    ['drops an index in time', '-- Unused since 0.2.0.\nDROP INDEX CONCURRENTLY IF EXISTS a.i;'],
    ['drops a column in time', '-- Unused since 0.2.9: nothing reads it.\nALTER TABLE a.b DROP COLUMN c;'],
    ['adds a constraint without a check', 'ALTER TABLE a.b ADD CONSTRAINT k CHECK (c > 0) NOT VALID;'],
    ['checks a constraint later', 'ALTER TABLE a.b VALIDATE CONSTRAINT k;'],
    ['makes a constraint wider', 'ALTER TABLE a.b DROP CONSTRAINT k;'],
    ['changes few rows', '-- Few rows: one for each tenant.\nUPDATE a.b SET c = 1;'],
    [
      'has words in texts and comments',
      "-- RENAME\nINSERT INTO a.b VALUES ('DROP TABLE a; RENAME'); /* DROP TABLE a; */",
    ],
    [
      'has a function',
      'CREATE FUNCTION a.f() RETURNS INT LANGUAGE sql AS $$ DELETE FROM a.b; DROP TABLE a.b $$;',
    ],
  ])('may run beside the previous version: %s', (_, sql) => {
    expect(rulesOf(sql)).toEqual([])
  })

  it.each([
    ['migration-renames', 'ALTER TABLE a.b RENAME COLUMN c TO d;'],
    ['migration-renames', 'ALTER TABLE a.b RENAME TO d;'],
    ['migration-removes-what-may-be-used', 'DROP TABLE a.b;'],
    ['migration-removes-what-may-be-used', 'ALTER TABLE a.b ADD COLUMN d INT, DROP COLUMN c;'],
    ['migration-removes-what-may-be-used', 'ALTER TABLE a.b ALTER COLUMN c DROP DEFAULT;'],
    ['migration-removes-what-may-be-used', 'DROP INDEX CONCURRENTLY IF EXISTS a.i;'],
    ['migration-removes-what-may-be-used', '-- Unused since 0.3.0.\nDROP TABLE a.b;'],
    ['migration-removes-what-may-be-used', '-- Unused since 0.10.0.\nDROP TABLE a.b;'],
    ['migration-requires-a-value', 'ALTER TABLE "a"."b" ADD COLUMN "c" TEXT NOT NULL;'],
    ['migration-requires-a-value', 'ALTER TABLE a.b ALTER COLUMN c SET NOT NULL;'],
    ['migration-changes-a-type', 'ALTER TABLE a.b ALTER COLUMN c TYPE BIGINT;'],
    ['migration-blocks-writers', 'CREATE INDEX i ON a.b (c);'],
    ['migration-blocks-writers', 'CREATE TABLE a.other (id INT); CREATE UNIQUE INDEX i ON a.b (c);'],
    ['migration-blocks-writers', '-- Unused since 0.2.0.\nDROP INDEX a.i;'],
    ['migration-blocks-writers', 'ALTER TABLE a.b ADD COLUMN c UUID DEFAULT gen_random_uuid();'],
    ['migration-blocks-writers', 'ALTER TABLE a.b ADD COLUMN c UUID REFERENCES a.d (id);'],
    ['migration-blocks-writers', 'ALTER TABLE a.b ADD CONSTRAINT k CHECK (c > 0);'],
    ['migration-changes-all-rows', 'UPDATE a.b SET c = 1;'],
    ['migration-changes-all-rows', 'DELETE FROM a.b;'],
  ])('is refused by %s: %s', (rule, sql) => {
    expect(rulesOf(sql)).toEqual([rule])
  })

  it('does not add and check a constraint in one transaction', () => {
    const sql =
      'ALTER TABLE a.b ADD CONSTRAINT k CHECK (c > 0) NOT VALID; ALTER TABLE a.b VALIDATE CONSTRAINT k;'
    expect(rulesOf(sql)).toEqual(['migration-blocks-writers'])
  })
})

it('checks the migrations since the first release, and names the file', async () => {
  const root = await mkdtemp(path.join(tmpdir(), 'migrations-'))
  onTestFinished(() => rm(root, { recursive: true }))
  const add = async (name: string, sql: string) => {
    const folder = path.join(root, 'libs/database/prisma/migrations', name)
    await mkdir(folder, { recursive: true })
    await writeFile(path.join(folder, 'migration.sql'), sql)
  }
  await writeFile(path.join(root, 'package.json'), '{ "version": "0.2.0" }')
  await add('20261125000000_before', 'DROP TABLE a.b;')
  expect(await checkMigrations(root)).toEqual([])
  await add('20270101000000_after', 'ALTER TABLE a.b\n  RENAME COLUMN c TO d;')
  expect(await checkMigrations(root)).toEqual([
    {
      rule: 'migration-renames',
      from: 'libs/database/prisma/migrations/20270101000000_after/migration.sql',
      to: 'ALTER TABLE a.b RENAME COLUMN c TO d',
    },
  ])
})
