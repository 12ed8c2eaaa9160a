/** Where the files of the archive are. Names are paths with `/`, below the bucket's prefix or the directory. */
export type FileStore = {
  /** Creates or replaces a file. A file that is not whole is never visible. */
  put(name: string, content: AsyncIterable<Uint8Array>, signal: AbortSignal): Promise<void>
  /** The content of a file; undefined if there is none of this name. */
  read(name: string): Promise<AsyncIterable<Uint8Array> | undefined>
  /** The bytes of a file from `start` to before `end`, or to its end; undefined if there is none of this name. */
  readRange(name: string, start: number, end: number): Promise<Uint8Array | undefined>
  /** The names of all files below a folder, in no certain order. */
  list(folder: string): AsyncIterable<string>
  /** Removes a file if there is one. */
  remove(name: string): Promise<void>
  close(): void
}

export type S3Options = {
  bucket: string
  /** Before the names of all files, such as `waymark/`. */
  prefix: string
  region: string
  /** The address of a store that is not AWS; empty for AWS. */
  endpoint: string
  /** Both empty: found as the AWS SDK does, such as from the role of the pod. */
  accessKeyId: string
  secretAccessKey: string
}
