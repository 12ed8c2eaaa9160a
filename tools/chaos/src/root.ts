import path from 'node:path'

/** The folder of the repository. */
export const ROOT = path.resolve(import.meta.dirname, '../../..')
