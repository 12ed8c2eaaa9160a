import { readFile } from 'node:fs/promises'
import path from 'node:path'
import type { Client } from '@waymark/client'
import type { AddCommands } from '../command.ts'
import type { Context } from '../context.ts'
import { CliError, EXIT } from '../exit-codes.ts'

const UUID = /^[\da-f]{8}(?:-[\da-f]{4}){3}-[\da-f]{12}$/i

/** `waymark coupons import` */
export const addCouponCommands: AddCommands = (program, run) => {
  const coupons = program.command('coupons').description('import coupon codes')
  coupons
    .command('import')
    .description('import codes from CSV into a pool; codes that are there already are left alone')
    .argument('<pool>', 'the id or the name of the pool')
    .argument('<file>', 'the CSV file, - for standard input')
    .action(run(importCodes))
}

const importCodes = async (context: Context, pool: string, file: string): Promise<void> => {
  const { io, out } = context
  const csv = file === '-' ? await io.readStdin() : await readBytes(path.resolve(io.cwd, file))
  const client = await context.client()
  const projectId = await context.projectId()
  const id = await findPool(client, projectId, pool)
  const result = await client.post('/api/projects/{projectId}/coupon-pools/{id}/import', {
    params: { path: { projectId, id } },
    body: csv as string,
    bodySerializer: (body: unknown) => body,
    headers: { 'Content-Type': 'text/csv' },
  })
  const { imported, duplicates, invalid, errors } = result
  const lines = errors.map(({ line, code, reason }) => `line ${line}: ${code}: ${reason}`)
  out.result(
    result,
    [`${imported} imported, ${duplicates} duplicates, ${invalid} invalid`, ...lines].join('\n'),
  )
  if (invalid > 0) throw new CliError('', EXIT.refused)
}

const readBytes = (file: string): Promise<Buffer> =>
  readFile(file).catch((error: Error) => {
    throw new CliError(`Cannot read ${file}: ${error.message}`)
  })

/** The id of a pool that is named by its id or name. @throws CliError when there is none, or several */
export const findPool = async (client: Client, projectId: string, name: string): Promise<string> => {
  if (UUID.test(name)) return name
  const params = { path: { projectId } }
  const pools = await Array.fromAsync(client.list('/api/projects/{projectId}/coupon-pools', { params }))
  const [first, second] = pools.filter((one) => one.name === name && one.archivedAt === null)
  if (!first) throw new CliError(`There is no pool ${name}`, EXIT.notFound)
  if (second) throw new CliError(`Several pools are named ${name}: use the id`)
  return first.id
}
