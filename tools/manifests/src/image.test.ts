import { execFileSync } from 'node:child_process'
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import path from 'node:path'
import { expect, it, onTestFinished } from 'vitest'

const ROOT = path.resolve(import.meta.dirname, '../../..')

it('passes the arguments of a container, such as the step of a Job, to the app', () => {
  const dockerfile = readFileSync(path.join(ROOT, 'deploy/docker/Dockerfile'), 'utf8')
  const command = /^RUN (printf [\s\S]*? > start && chmod 755 start)$/m.exec(dockerfile)?.[1] ?? ''
  const folder = mkdtempSync(path.join(tmpdir(), 'image-'))
  onTestFinished(() => rmSync(folder, { recursive: true }))
  execFileSync('sh', ['-c', command], { cwd: folder })
  writeFileSync(path.join(folder, 'node'), `#!/bin/sh\nprintf '%s\\n' "$@"\n`, { mode: 0o755 })
  const output = execFileSync('./start', ['account', 'two words'], {
    cwd: folder,
    env: { PATH: `${folder}:/usr/bin:/bin` },
    encoding: 'utf8',
  })
  expect(output.trim().split('\n').slice(-3)).toEqual(['main.ts', 'account', 'two words'])
})
