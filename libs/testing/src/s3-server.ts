import { existsSync } from 'node:fs'
import { mkdir, mkdtemp, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import path from 'node:path'
import { startProcess } from './child-process.ts'
import { eventually } from './eventually.ts'
import { freePort } from './free-port.ts'

const PROGRAM = '/usr/local/bin/versitygw'

/** Whether an S3 server is installed; `libs/event-files/tests/install-versitygw.sh` installs it. */
export const hasS3Server = existsSync(PROGRAM)

export type S3Server = {
  bucket: string
  region: string
  endpoint: string
  accessKeyId: string
  secretAccessKey: string
  /** Where the objects of the bucket are as files. */
  folder: string
  stop: () => Promise<void>
}

/** Starts Versity S3 Gateway on a new directory, with one bucket. */
export const startS3Server = async (): Promise<S3Server> => {
  const [bucket, accessKeyId, secretAccessKey] = ['archive', 'access', 'a-secret-of-the-test']
  const directory = await mkdtemp(path.join(tmpdir(), 's3-'))
  const folder = path.join(directory, bucket)
  await mkdir(folder)
  // It does not say which port it has.
  const address = `127.0.0.1:${await freePort()}`
  const server = startProcess(
    PROGRAM,
    ['--access', accessKeyId, '--secret', secretAccessKey, '--port', address, 'posix', directory],
    {},
  )
  const endpoint = `http://${address}`
  await eventually('the S3 server answers', async () => (await fetch(endpoint)).status > 0)
  return {
    bucket,
    region: 'us-east-1',
    endpoint,
    accessKeyId,
    secretAccessKey,
    folder,
    stop: async () => {
      await server.kill()
      await rm(directory, { recursive: true })
    },
  }
}
