import { createHash } from 'node:crypto'
import { readFile } from 'node:fs/promises'
import path from 'node:path'
import { isDeepStrictEqual } from 'node:util'
import { ErasureCertificate } from '@waymark/contracts/http/erasures'
import { compileValidator } from '@waymark/contracts/validator'
import { compactVerify, errors, importJWK } from 'jose'
import { type AddCommands, collect } from '../command.ts'
import type { Context } from '../context.ts'
import { CliError, EXIT } from '../exit-codes.ts'

const certificates = compileValidator(ErasureCertificate)

type VerifyOptions = { key?: string; user: string[]; visitor: string[] }

/** `waymark erasures` and `waymark verify-erasure` */
export const addErasureCommands: AddCommands = (program, run) => {
  const erasures = program.command('erasures').description('list erasures of people, and get certificates')
  erasures
    .command('list', { isDefault: true })
    .description('list erasures, the last first')
    .option('--limit <n>', 'how many', '50')
    .action(
      run(async (context, { limit }: { limit: string }) => {
        const client = await context.client()
        const { data } = await client.get('/api/projects/{projectId}/erasures', {
          params: { path: { projectId: await context.projectId() }, query: { limit: Number(limit) } },
        })
        context.out.table(
          data,
          data.map(({ removed, isComplete, ...erasure }) => ({
            ...erasure,
            complete: isComplete ? 'yes' : 'no',
            rows: Object.values(removed).reduce<number>((sum, rows) => sum + Number(rows), 0),
          })),
          ['id', 'erasedAt', 'complete', 'rows'],
        )
      }),
    )
  erasures
    .command('certificate')
    .description('print the signed certificate of an erasure')
    .argument('<id>', 'the id of the erasure')
    .action(
      run(async (context, id: string) => {
        const client = await context.client()
        const answer = await client.get('/api/projects/{projectId}/erasures/{id}/certificate', {
          params: { path: { projectId: await context.projectId(), id } },
        })
        context.out.result(answer, JSON.stringify(answer, null, 2))
      }),
    )
  program
    .command('verify-erasure')
    .description('check the signature of a certificate of an erasure, and whom it is about')
    .argument('<file>', 'the certificate, as `waymark erasures certificate` prints it')
    .option('--key <x>', 'the public key (`x` of its JWK); default: the key of the installation')
    .option('--user <id>', 'fail unless this user was erased; repeat it for several', collect, [])
    .option('--visitor <id>', 'fail unless this visitor was erased; repeat it for several', collect, [])
    .action(
      run(async (context, file: string, { key, user, visitor }: VerifyOptions) => {
        const { signed, readable } = await readCertificate(path.resolve(context.io.cwd, file))
        const certificate = await verify(signed, key ?? (await keyOfInstallation(context)))
        if (readable !== undefined && !isDeepStrictEqual(readable, certificate))
          throw negative('The readable certificate differs from the signed one')
        const missing = [
          ...user.map((id) => ['user', id] as const),
          ...visitor.map((id) => ['visitor', id] as const),
        ].filter(([kind, id]) => !certificate.people.includes(hashOf(certificate.projectId, kind, id)))
        if (missing.length > 0)
          throw negative(
            `The certificate is not about ${missing.map(([kind, id]) => `${kind} ${id}`).join(', ')}`,
          )
        context.out.result(certificate, describe(certificate))
      }),
    )
}

const negative = (message: string): CliError => new CliError(message, EXIT.negative)

/** The hash by which a certificate names an id. */
const hashOf = (projectId: string, kind: 'user' | 'visitor', id: string): string =>
  createHash('sha256').update(`${projectId}:${kind}:${id}`).digest('hex')

/** Reads the answer of the API, or a bare signature. @throws CliError when the file has neither */
const readCertificate = async (file: string): Promise<{ signed: string; readable?: unknown }> => {
  const text = await readFile(file, 'utf8').catch((error: Error) => {
    throw new CliError(`${file} cannot be read: ${error.message}`)
  })
  if (/^[\w-]+\.[\w-]+\.[\w-]+$/.test(text.trim())) return { signed: text.trim() }
  let value: unknown
  try {
    value = JSON.parse(text)
  } catch {
    value = undefined
  }
  const { signed, certificate } = (value ?? {}) as { signed?: unknown; certificate?: unknown }
  if (typeof signed !== 'string') throw new CliError(`${file} has no signed certificate`)
  return { signed, readable: certificate }
}

const keyOfInstallation = async (context: Context): Promise<string> => {
  const client = await context.client()
  const { x } = await client.get('/api/projects/{projectId}/erasure-key', {
    params: { path: { projectId: await context.projectId() } },
  })
  return x
}

/** The signed certificate. @throws CliError when it was changed, or signed with another key */
const verify = async (signed: string, x: string): Promise<ErasureCertificate> => {
  const key = await importJWK({ kty: 'OKP', crv: 'Ed25519', x }, 'EdDSA').catch(() => {
    throw new CliError(`${x} is not an Ed25519 key in base64url`)
  })
  const { payload } = await compactVerify(signed, key, { algorithms: ['EdDSA'] }).catch((error: unknown) => {
    if (!(error instanceof errors.JOSEError)) throw error
    throw negative('The certificate was changed, or signed with another key')
  })
  const certificate: unknown = JSON.parse(Buffer.from(payload).toString('utf8'))
  if (!certificates.fits(certificate)) throw negative('What was signed is not a certificate of an erasure')
  return certificate
}

const describe = ({
  issuer,
  projectId,
  people,
  erasedAt,
  removedAt,
  removed,
  archive,
  topics,
  backups,
}: ErasureCertificate): string =>
  [
    'The signature is valid.',
    `${issuer} erased a person with ${people.length} ids in project ${projectId} at ${erasedAt}.`,
    `Removed or made anonymous until ${removedAt}: ${Object.entries(removed)
      .map(([kind, rows]) => `${kind} ${rows}`)
      .join(', ')}.`,
    `Archive: ${archive.rewrittenFiles} files rewritten until ${archive.removedAt}.`,
    `Topics keep records for ${topics.retentionDays} days: none is left from ${topics.goneAt}.`,
    backups
      ? `Backups are kept for ${backups.retentionDays} days: none has the person from ${backups.goneAt}.`
      : 'It says nothing about backups.',
  ].join('\n')
