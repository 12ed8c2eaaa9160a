import { hostname } from 'node:os'
import { docker, images, services } from '@waymark/testing'
import { expect, it } from 'vitest'
import { RUN_LABEL, removeAbandonedContainers, runLabel } from '../src/test-run.ts'

/** Larger than every process id. */
const NO_PROCESS = 2 ** 31 - 1

it.skipIf(!services)('removes containers of ended runs on this machine, and no others', async () => {
  const create = async (label: string) =>
    (await docker('create', '--label', `${RUN_LABEL}=${label}`, images.redis)).trim()
  const abandoned = [await create(`${hostname()}:${NO_PROCESS}`), await create(`${hostname()}:${NO_PROCESS}`)]
  const kept = [await create(runLabel()), await create(`another-host:${NO_PROCESS}`)]
  try {
    removeAbandonedContainers()
    const left = await docker('ps', '--all', '--quiet', '--no-trunc', '--filter', `label=${RUN_LABEL}`)
    expect(left.split(/\s+/)).toEqual(expect.arrayContaining(kept))
    for (const id of abandoned) expect(left).not.toContain(id)
  } finally {
    await docker('rm', '--force', ...kept)
  }
})
