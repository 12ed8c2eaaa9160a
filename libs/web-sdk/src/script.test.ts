import { execFileSync } from 'node:child_process'
import { readFileSync } from 'node:fs'
import path from 'node:path'
import { gzipSync } from 'node:zlib'
import { expect, it } from 'vitest'

const PACKAGE = path.join(import.meta.dirname, '..')
/** What a visitor downloads at most, in bytes, where the browser does not support Brotli. */
const MAX_BYTES = 5_000

it('the built script takes at most 5 kB and evaluates no text', () => {
  execFileSync(process.execPath, [path.join(PACKAGE, 'build.mjs')])
  const script = readFileSync(path.join(PACKAGE, 'dist/w.js'))
  expect(gzipSync(script).length).toBeLessThanOrEqual(MAX_BYTES)
  expect(`${script}`).not.toMatch(/\beval\b|new Function|innerHTML/)
})

it('the built module exports the same functions, and needs no browser to be imported', async () => {
  execFileSync(process.execPath, [path.join(PACKAGE, 'build.mjs')])
  const { waymark } = await import(path.join(PACKAGE, 'dist/index.js'))
  expect(Object.keys(waymark).sort()).toEqual([
    'decide',
    'identify',
    'init',
    'page',
    'push',
    'reset',
    'setConsent',
    'track',
  ])
  expect(readFileSync(path.join(PACKAGE, 'dist/index.d.ts'), 'utf8')).toContain(
    'export declare const waymark: Waymark',
  )
})
