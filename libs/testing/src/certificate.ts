import { execFile } from 'node:child_process'
import { mkdtemp, readFile, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import path from 'node:path'
import { promisify } from 'node:util'

const run = promisify(execFile)

/** A self-signed certificate for localhost and its key, in PEM and as files. */
type TestCertificate = { cert: string; key: string; certFile: string; keyFile: string }

/** Creates a certificate with the `openssl` command. */
export const makeCertificate = async (): Promise<TestCertificate & { remove(): Promise<void> }> => {
  const folder = await mkdtemp(path.join(tmpdir(), 'certificate-'))
  const [certFile, keyFile] = [path.join(folder, 'tls.crt'), path.join(folder, 'tls.key')]
  const names = 'subjectAltName=DNS:localhost,IP:127.0.0.1'
  await run(
    'openssl',
    [
      'req',
      '-x509',
      '-newkey',
      'rsa:2048',
      '-nodes',
      '-days',
      '2',
      '-subj',
      '/CN=localhost',
      '-addext',
      names,
      '-keyout',
      keyFile,
      '-out',
      certFile,
    ],
    { timeout: 60_000 },
  )
  return {
    cert: await readFile(certFile, 'utf8'),
    key: await readFile(keyFile, 'utf8'),
    certFile,
    keyFile,
    remove: () => rm(folder, { recursive: true }),
  }
}
