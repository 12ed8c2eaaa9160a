import { execFileSync } from 'node:child_process'
import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import path from 'node:path'
import { describe, expect, it, onTestFinished } from 'vitest'
import { findReferences, referencesIn } from './code-references.ts'

describe('references in code', () => {
  it('are found in quotes, by their whole key', async () => {
    const folder = mkdtempSync(path.join(tmpdir(), 'waymark-refs-'))
    onTestFinished(() => rmSync(folder, { recursive: true }))
    execFileSync('git', ['init', '--quiet'], { cwd: folder })
    mkdirSync(path.join(folder, 'src'))
    writeFileSync(path.join(folder, '.gitignore'), 'dist\n')
    mkdirSync(path.join(folder, 'dist'))
    writeFileSync(path.join(folder, 'dist/shop.js'), `flag('sale')\n`)
    writeFileSync(
      path.join(folder, 'src/shop.ts'),
      [`flag('sale')`, 'sale', `flag("sale-banner") // 'sale'`, 'flag(`new.checkout`)', ''].join('\n'),
    )
    expect(await findReferences(folder, ['sale', 'sale-banner', 'new.checkout', 'unused'])).toEqual([
      { decision: 'sale', file: 'src/shop.ts', line: 1 },
      { decision: 'sale-banner', file: 'src/shop.ts', line: 3 },
      { decision: 'sale', file: 'src/shop.ts', line: 3 },
      { decision: 'new.checkout', file: 'src/shop.ts', line: 4 },
    ])
    expect(await findReferences(folder, ['unused'])).toEqual([])
    expect(await findReferences(folder, [])).toEqual([])
  })

  it('are read from the output of ripgrep and of Git', () => {
    const keys = new Set(['sale'])
    const wanted = [{ decision: 'sale', file: 'src/a:b.ts', line: 7 }]
    expect(referencesIn(`./src/a:b.ts\0${7}:flag('sale')\n`, keys)).toEqual(wanted)
    expect(referencesIn(`src/a:b.ts\0${7}\0flag('sale')\n`, keys)).toEqual(wanted)
    expect(referencesIn(`src/a.ts\0${7}\0flag('sale")\n`, keys)).toEqual([])
  })

  it('fail in a folder that is not there', async () => {
    const missing = path.join(tmpdir(), 'waymark-no-such-folder')
    await expect(findReferences(missing, ['sale'])).rejects.toThrow()
  })
})
