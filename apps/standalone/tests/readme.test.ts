import { spawnSync } from 'node:child_process'
import { chmod, mkdir, mkdtemp, readdir, readFile, rm, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import path from 'node:path'
import { eventually, extent, freePort, startProcess } from '@waymark/testing'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'

const ROOT = path.resolve(import.meta.dirname, '../../..')
const SHELLS = extent(['sh'], ['sh', 'bash', 'zsh']).filter(
  (shell) => spawnSync(shell, ['-c', ':']).status === 0,
)
// A block that needs more than `npm start` has a comment that says so.
const BLOCK = /(<!-- Not run by the README test: ([^>]*) -->\n)?^```sh\n(.*?)^```$/gms

const commandPath = (command: string): string =>
  spawnSync('sh', ['-c', `command -v ${command}`], { encoding: 'utf8' }).stdout.trim()

type Block = { commands: string; leftOut: string | undefined }

const blocksOf = async (file: string): Promise<Block[]> =>
  [...(await readFile(path.join(ROOT, file), 'utf8')).matchAll(BLOCK)].map(
    ([, , leftOut, commands = '']) => ({ commands, leftOut }),
  )

describe('the commands of the documentation', () => {
  it('are skipped only if they need more than a running server', async () => {
    const blocks = await blocksOf('README.md')
    const leftOut = blocks.filter((block) => block.leftOut !== undefined)
    for (const block of leftOut)
      expect(block.commands).toMatch(/docker|kubectl|npm ci|npm test|localhost:8087/)
    expect(blocks.length - leftOut.length).toBeGreaterThanOrEqual(6)
  })

  it('work in an interactive zsh, which does not support comments', async () => {
    for (const file of ['README.md', 'docs/email.md', 'docs/accounts.md', 'docs/coupons.md'])
      for (const { commands, leftOut } of await blocksOf(file))
        if (leftOut === undefined) expect(commands).not.toMatch(/(^|\s)#/m)
  })
})

describe.each(SHELLS)('the commands of the documentation in %s', (shell) => {
  let folder: string
  let dataDir: string
  let stop: () => Promise<void>
  beforeAll(async () => {
    folder = await mkdtemp(path.join(tmpdir(), 'waymark-readme-'))
    await chmod(folder, 0o755)
    dataDir = path.join(folder, 'my data')
    await mkdir(dataDir)
    // Records the status of each response, which curl does not print.
    await writeFile(
      path.join(folder, 'curl'),
      `#!/bin/sh\nexec ${commandPath('curl')} -sS "$@" -w '%{stderr}[%{http_code}] %{url_effective}\\n'\n`,
      { mode: 0o755 },
    )
    const server = startProcess(process.execPath, [path.join(ROOT, 'apps/standalone/src/main.ts')], {
      env: {
        PATH: process.env.PATH,
        WAYMARK_DATA_DIR: dataDir,
        // It writes its own address into files, so it must know its port before it listens.
        PORT: `${await freePort()}`,
        METRICS_PORT: '0',
      },
    })
    stop = async () => {
      server.child.kill('SIGTERM')
      await server.ended
    }
    // A first start creates a database, which takes a busy machine up to a minute.
    await eventually('it greets', () => server.stdout().includes('Waymark answers on'), 300_000)
  })
  afterAll(async () => {
    await stop?.()
    await rm(folder, { recursive: true, force: true })
  })

  /** Passes the code blocks of a file to the shell's standard input, like pasted text. */
  const paste = async (file: string): Promise<{ out: string; statuses: string[] }> => {
    const blocks = (await blocksOf(file)).filter(({ leftOut }) => leftOut === undefined)
    const pasted = startProcess(shell, ['-s'], {
      keepInputOpen: true,
      cwd: ROOT,
      env: {
        PATH: `${folder}:${process.env.PATH}`,
        HOME: folder,
        TMPDIR: folder,
        WAYMARK_DATA_DIR: dataDir,
      },
    })
    pasted.child.stdin.end(`set -eu\n${blocks.map(({ commands }) => commands).join('\n')}`)
    const status = await pasted.ended
    const [out, err] = [pasted.stdout(), pasted.stderr()]
    const statuses = [...err.matchAll(/^\[(\d+)\] (\S+)$/gm)].map(([, code, url]) => `${code} ${url}`)
    expect({ status, err }).toMatchObject({ status: 0 })
    expect(statuses.filter((line) => !/^[23]/.test(line))).toEqual([])
    const curls = blocks.flatMap(({ commands }) => commands.match(/\bcurl\b/g) ?? [])
    expect(statuses.length).toBeGreaterThanOrEqual(curls.length)
    return { out, statuses }
  }

  it('of README.md work in order', async () => {
    const { out } = await paste('README.md')
    expect(out).toContain('"eventId":"order-1001"')
    expect(out).toMatch(/"key":"button","variant":"(old|new)","value":"(grey|red)","reason":"SPLIT"/)
    expect(out).toMatch(/"code":"SUN-[^"]+","status":"available"/)
    expect(out).toContain('"status":"redeemed"')
    expect(out).toMatch(/HTTP\/1.1 302 .*^Location: https:\/\/shop\.example\/shoes\?wm_click=/ims)
    expect(out).toMatch(/^accepted +5$/m)
  })

  it('of docs/email.md send the email', async () => {
    const { out } = await paste('docs/email.md')
    const [listed = '{}'] = out.match(/\{"data":.*"nextCursor":[^}]*\}/) ?? []
    // The commands must wait for the triggered email, not for the test email of the same trigger.
    expect(JSON.parse(listed).data).toContainEqual(
      expect.objectContaining({ recipient: 'ann@example.com', status: 'sent' }),
    )
    const mails = (await readdir(path.join(dataDir, 'mail'))).filter((name) => name.endsWith('.eml'))
    const texts = await Promise.all(mails.map((name) => readFile(path.join(dataDir, 'mail', name), 'utf8')))
    expect(texts.some((mail) => mail.includes('To: ann@example.com'))).toBe(true)
  })

  it('of docs/coupons.md grant what they validate', async () => {
    const { out } = await paste('docs/coupons.md')
    // 12.5 % of 39.90 is 4.99.
    expect(out).toContain('"valid":true,"discountAmount":499')
    expect(out).toMatch(/"ok":true.*"discountAmount":499/)
    // 50.00 - 39.90.
    expect(out).toContain('"message":"10.10 EUR more"')
  })

  it('of docs/accounts.md sign in and create a project', async () => {
    const { out } = await paste('docs/accounts.md')
    expect(out).toContain('"email":"demo@waymark.localhost"')
    expect(out).toContain('"name":"Shop"')
  })
})
