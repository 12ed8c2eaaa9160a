import { spawnSync } from 'node:child_process'
import path from 'node:path'
import { expect, it } from 'vitest'

const file = path.resolve(import.meta.dirname, '../require-node.mjs')
const check = (...version: string[]) => spawnSync(process.execPath, [file, ...version], { encoding: 'utf8' })

it.each(['v20.20.2', 'v22.18.0', 'v23.11.1', 'v24.6.0'])(
  'refuses to install with %s only, and says what is needed',
  (version) => {
    const { status, stderr } = check(version)
    expect(status).toBe(1)
    expect(stderr).toContain(`Node.js 24.7 or newer; this is ${version}`)
  },
)

it.each([['v24.7.0'], ['v25.0.0'], ['v26.1.0'], []])('installs with %s', (...version) => {
  expect(check(...version)).toMatchObject({ status: 0, stderr: '' })
})
