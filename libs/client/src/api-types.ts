import type { paths } from './generated/api.d.ts'

export type HttpMethod = 'get' | 'post' | 'put' | 'patch' | 'delete'

/** The paths of the API that have a method. */
export type PathsWithMethod<M extends HttpMethod> = {
  [P in keyof paths]: paths[P] extends { [Method in M]: { responses: unknown } } ? P : never
}[keyof paths]
