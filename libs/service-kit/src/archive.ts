import { createDirectoryStore, type FileStore, openS3Store } from '@waymark/event-files'
import { type ArchiveFormat, archiveFormats } from '@waymark/pipeline'
import { Type } from 'typebox'
import { type Config, ConfigError, variable } from './config.ts'

const text = (name: string, description: string, value = '') =>
  variable(name, Type.String({ default: value, description }))

/** Where the archive of events is, and how its files are written. */
export const archiveConfig = {
  bucket: text(
    'ARCHIVE_S3_BUCKET',
    'Bucket of the archive of events. Empty: no archive; the standalone process writes to `archive/` in its data directory.',
  ),
  prefix: text('ARCHIVE_S3_PREFIX', 'Text before the names of all files in the bucket, such as `waymark/`.'),
  region: text('ARCHIVE_S3_REGION', 'Region of the bucket.', 'us-east-1'),
  endpoint: text('ARCHIVE_S3_ENDPOINT', 'Address of an S3-compatible store. Empty: AWS.'),
  accessKeyId: text(
    'ARCHIVE_S3_ACCESS_KEY_ID',
    'Access key. Empty: found as the AWS SDK does, such as from the role of the pod.',
  ),
  secretAccessKey: text('ARCHIVE_S3_SECRET_ACCESS_KEY', 'Secret of the access key.'),
  format: variable(
    'ARCHIVE_FORMAT',
    Type.Union(
      archiveFormats.map((format) => Type.Literal(format)),
      { default: 'parquet', description: 'Format of new files.' },
    ),
  ),
} as const
export type ArchiveConfig = Config<typeof archiveConfig>

export type Archive = { store: FileStore; format: ArchiveFormat }

/** The archive; undefined without a bucket and a directory. */
export const openArchive = async (
  { format, ...s3 }: ArchiveConfig,
  directory?: string,
): Promise<Archive | undefined> => {
  if ((s3.accessKeyId === '') !== (s3.secretAccessKey === ''))
    throw new ConfigError([
      'ARCHIVE_S3_ACCESS_KEY_ID and ARCHIVE_S3_SECRET_ACCESS_KEY must both be set, or neither',
    ])
  if (s3.bucket !== '') return { format, store: await openS3Store(s3) }
  return directory === undefined ? undefined : { format, store: createDirectoryStore(directory) }
}
