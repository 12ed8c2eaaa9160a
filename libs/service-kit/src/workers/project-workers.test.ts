import { mkdtemp, rm, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import path from 'node:path'
import { eventually } from '@waymark/testing'
import { expect, it } from 'vitest'
import { createProjectWorkers } from './project-workers.ts'

it('reports an error of a worker after its task, and runs the next one', async () => {
  const folder = await mkdtemp(path.join(tmpdir(), 'waymark-workers-'))
  const filename = path.join(folder, 'worker.mjs')
  await writeFile(
    filename,
    `export default ({ task, started }) => {
      started.postMessage('started')
      if (task === 'late') setTimeout(() => { throw new Error('too late') }, 1)
      return task
    }`,
  )
  const errors: string[] = []
  const onError = (error: Error) => errors.push(error.message)
  const workers = createProjectWorkers<string, string>({ filename, deadlineMs: 60_000, onError })
  try {
    expect(await workers.run('p', 'late')).toBe('late')
    await eventually('the error is reported', () => errors.includes('too late'))
    expect(await workers.run('p', 'next')).toBe('next')
  } finally {
    await workers.close()
    await rm(folder, { recursive: true })
  }
})
