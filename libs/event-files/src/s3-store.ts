import { Readable } from 'node:stream'
import {
  DeleteObjectCommand,
  GetObjectCommand,
  NoSuchKey,
  paginateListObjectsV2,
  S3Client,
} from '@aws-sdk/client-s3'
import { Upload } from '@aws-sdk/lib-storage'
import type { FileStore, S3Options } from './file-store.ts'

const CONNECT_TIMEOUT_MS = 5_000
const REQUEST_TIMEOUT_MS = 60_000
/** Bytes of one part of an upload. Two are in memory at a time. */
const PART_BYTES = 8 * 1024 * 1024

/** Keeps files in a bucket of an S3-compatible store. */
export const createS3Store = ({
  bucket,
  prefix,
  region,
  endpoint,
  accessKeyId,
  secretAccessKey,
}: S3Options): FileStore => {
  const client = new S3Client({
    region,
    ...(endpoint !== '' && { endpoint, forcePathStyle: true }),
    ...(accessKeyId !== '' && { credentials: { accessKeyId, secretAccessKey } }),
    // Stores other than AWS may not know the newer checksums.
    requestChecksumCalculation: 'WHEN_REQUIRED',
    responseChecksumValidation: 'WHEN_REQUIRED',
    requestHandler: {
      connectionTimeout: CONNECT_TIMEOUT_MS,
      requestTimeout: REQUEST_TIMEOUT_MS,
      throwOnRequestTimeout: true,
    },
  })
  const objectOf = (name: string) => ({ Bucket: bucket, Key: `${prefix}${name}` })
  return {
    put: async (name, content, signal) => {
      const upload = new Upload({
        client,
        params: { ...objectOf(name), Body: Readable.from(content, { objectMode: false }) },
        partSize: PART_BYTES,
        queueSize: 2,
      })
      const abort = () => void upload.abort()
      signal.addEventListener('abort', abort)
      try {
        signal.throwIfAborted()
        await upload.done()
      } finally {
        signal.removeEventListener('abort', abort)
      }
    },
    read: async (name) => {
      try {
        const { Body } = await client.send(new GetObjectCommand(objectOf(name)))
        return Body as unknown as Readable
      } catch (error) {
        if (error instanceof NoSuchKey) return undefined
        throw error
      }
    },
    readRange: async (name, start, end) => {
      try {
        const range = { ...objectOf(name), Range: `bytes=${start}-${end - 1}` }
        const { Body } = await client.send(new GetObjectCommand(range))
        return await Body?.transformToByteArray()
      } catch (error) {
        if (error instanceof NoSuchKey) return undefined
        throw error
      }
    },
    list: async function* (folder) {
      const pages = paginateListObjectsV2({ client }, { Bucket: bucket, Prefix: `${prefix}${folder}/` })
      for await (const { Contents = [] } of pages)
        for (const { Key = '' } of Contents) yield Key.slice(prefix.length)
    },
    remove: async (name) => {
      await client.send(new DeleteObjectCommand(objectOf(name)))
    },
    close: () => client.destroy(),
  }
}
