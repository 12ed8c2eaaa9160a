import type { Constellation } from '@waymark/testing'

/** The arguments of the programs that use a generated client. */
export const programArguments = async ({ request, apiKey, projectId }: Constellation): Promise<string[]> => [
  new URL((await request('/healthz')).url).origin,
  apiKey,
  projectId,
]
