import { execFileSync } from 'node:child_process'
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import path from 'node:path'
import { expect, it, onTestFinished } from 'vitest'

const ROOT = path.resolve(import.meta.dirname, '../../..')

/** Makes the start command of an app, with a fake Node.js that prints its arguments and settings, and runs it. */
const start = (app: string, args: readonly string[], env: Record<string, string> = {}): string[] => {
  const dockerfile = readFileSync(path.join(ROOT, 'deploy/docker/Dockerfile'), 'utf8')
  const command = /^RUN (printf [\s\S]*? > start && chmod 755 start)$/m.exec(dockerfile)?.[1] ?? ''
  const folder = mkdtempSync(path.join(tmpdir(), 'image-'))
  onTestFinished(() => rmSync(folder, { recursive: true }))
  execFileSync('sh', ['-c', command], { cwd: folder, env: { ...process.env, APP: app } })
  const node = '#!/bin/sh\nprintf \'%s\\n\' "HOST=$HOST" "WAYMARK_DATA_DIR=$WAYMARK_DATA_DIR" "$@"\n'
  writeFileSync(path.join(folder, 'node'), node, { mode: 0o755 })
  const output = execFileSync('./start', args, {
    cwd: folder,
    env: { PATH: `${folder}:/usr/bin:/bin`, ...env },
    encoding: 'utf8',
  })
  return output.trim().split('\n')
}

it('passes the arguments of a container, such as the step of a Job, to the app', () => {
  const output = start('setup', ['account', 'two words'])
  expect(output.slice(-3)).toEqual(['main.ts', 'account', 'two words'])
  expect(output.slice(0, 2)).toEqual(['HOST=', 'WAYMARK_DATA_DIR='])
})

it('lets standalone listen on all addresses and keep its data in the volume, unless it is told otherwise', () => {
  expect(start('standalone', []).slice(0, 2)).toEqual(['HOST=0.0.0.0', 'WAYMARK_DATA_DIR=/data'])
  expect(start('standalone', [], { HOST: '::1', WAYMARK_DATA_DIR: '/mine' }).slice(0, 2)).toEqual([
    'HOST=::1',
    'WAYMARK_DATA_DIR=/mine',
  ])
})
