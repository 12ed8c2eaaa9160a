import { execFileSync, spawnSync } from 'node:child_process'
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import path from 'node:path'
import fc from 'fast-check'
import { afterAll, describe, expect, it } from 'vitest'
import { quoteForShell, shellVariables } from './shell-variables.ts'

const SHELLS = ['sh', 'bash', 'zsh'].filter((shell) => spawnSync(shell, ['-c', ':']).status === 0)
const demo = {
  baseUrl: 'http://localhost:9000',
  apiKey: 'wm_sec_1',
  publicKey: 'wm_pub_1',
  projectId: '0199',
  email: 'demo@waymark.localhost',
  password: 'p$`"\'!\\ word',
}

describe.each(SHELLS)('in %s', (shell) => {
  const evaluate = (script: string) => execFileSync(shell, ['-c', script], { encoding: 'utf8' })

  it('sets every variable', () => {
    const script = `${shellVariables(JSON.stringify(demo))}printf '%s\\n' "$URL" "$API" "$PROJECT" "$KEY" "$PUB_KEY" "$EMAIL" "$PASSWORD"`
    expect(evaluate(script).split('\n')).toEqual([
      demo.baseUrl,
      'http://localhost:9000/api/projects/0199',
      demo.projectId,
      demo.apiKey,
      demo.publicKey,
      demo.email,
      demo.password,
      '',
    ])
  })

  it('quotes any text as one word', () => {
    const text = fc.string({ unit: fc.constantFrom('a', ' ', "'", '"', '$', '`', '\\', '!', '*', '=', '\n') })
    // Many at once, because each needs a process.
    fc.assert(
      fc.property(fc.array(text, { minLength: 10, maxLength: 100 }), (texts) => {
        const printed = evaluate(`printf '%s\\0' ${texts.map(quoteForShell).join(' ')}`)
        expect(printed.split('\0').slice(0, -1)).toEqual(texts)
      }),
      { numRuns: 5 },
    )
  })
})

describe('npm run demo:env', () => {
  const folder = mkdtempSync(path.join(tmpdir(), "it's data-"))
  afterAll(() => rmSync(folder, { recursive: true }))
  const file = path.join(folder, 'demo.json')
  const run = (args: string[], env: Record<string, string> = {}, input = '') =>
    spawnSync(process.execPath, [path.join(import.meta.dirname, 'demo-env.ts'), ...args], {
      encoding: 'utf8',
      cwd: folder,
      env: { PATH: process.env.PATH, ...env },
      input,
    })

  it('reads the data directory, a path or standard input', () => {
    writeFileSync(file, JSON.stringify(demo))
    const printed = shellVariables(JSON.stringify(demo))
    expect(run([], { WAYMARK_DATA_DIR: folder }).stdout).toBe(printed)
    expect(run([file]).stdout).toBe(printed)
    expect(run(['demo.json'], { INIT_CWD: folder }).stdout).toBe(printed)
    expect(run(['-'], {}, JSON.stringify(demo)).stdout).toBe(printed)
  })

  it.each([
    ['is missing', ['missing.json'], '', /ENOENT.*npm start/s],
    ['is no JSON', ['-'], '{', /JSON.*npm start/s],
    [
      'lacks a field',
      ['-'],
      JSON.stringify({ ...demo, publicKey: undefined }),
      /no text in the field publicKey/,
    ],
  ])('prints no commands when the file %s', (_what, args, input, message) => {
    const { status, stdout, stderr } = run(args, {}, input)
    expect({ status, stdout }).toEqual({ status: 1, stdout: '' })
    expect(stderr).toMatch(message)
  })
})
