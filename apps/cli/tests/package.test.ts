import path from 'node:path'
import { expect, it } from 'vitest'
import { createEmptyFolder } from './empty-folder.ts'

it('runs as the published package in an empty folder', async () => {
  const { run, install, remove } = await createEmptyFolder()
  try {
    const { name, bin } = await install('apps/cli')
    expect(name).toBe('waymark')
    const main = path.join('node_modules/waymark', bin?.waymark ?? '')
    expect(await run([main, '--version'])).toBe('0.1.0\n')
    expect(await run([main, 'completion', 'bash'])).toContain('complete -F _waymark waymark')
  } finally {
    await remove()
  }
})
