import path from 'node:path'
import { describe, expect, it, onTestFinished } from 'vitest'
import { startProcess } from './child-process.ts'
import { eventually } from './eventually.ts'

const start = (...args: Parameters<typeof startProcess>) => {
  const started = startProcess(...args)
  onTestFinished(started.kill)
  return started
}
/** A shell that starts another process, prints its id and waits for it. */
const PARENT = ['-c', 'sleep 600 & echo $!; wait'] as const
const lineOf = (stdout: () => string) => eventually('a line is written', () => /^(\d+)\n/.exec(stdout())?.[1])
// A dead orphan may stay a zombie if process 1 does not reap it.
const isRunning = async (pid: string): Promise<boolean> => {
  const { ended, stdout } = startProcess('ps', ['-o', 'stat=', '-p', pid])
  await ended
  return /^[^Z]/.test(stdout().trim())
}
const hasEnded = (pid: string) => eventually(`${pid} has ended`, async () => !(await isRunning(pid)))

describe('a started process', () => {
  it('ends together with the processes that it started', async () => {
    const { kill, stdout } = start('sh', PARENT)
    const pid = await lineOf(stdout)
    expect(await isRunning(pid)).toBe(true)
    await kill()
    await hasEnded(pid)
  })

  it('leaves no process running when it is killed', async () => {
    const { child, ended, stdout } = start('sh', PARENT)
    const pid = await lineOf(stdout)
    child.kill('SIGKILL')
    expect(await ended).toBe(null)
    await hasEnded(pid)
  })

  it('can leave its processes running', async () => {
    // A surviving process would keep the output open.
    const script = 'sleep 600 >/dev/null 2>&1 & echo $!; wait'
    const { kill, stdout } = start('sh', ['-c', script], { keepGroup: true })
    const pid = await lineOf(stdout)
    await kill()
    expect(await isRunning(pid)).toBe(true)
    process.kill(Number(pid), 'SIGKILL')
  })

  it.each([
    ['ends', 'process.exit()', undefined],
    ['is ended by SIGTERM, as workers of Vitest are', 'setInterval(() => {}, 1_000)', 'SIGTERM'],
    ['is ended by SIGINT, as from a terminal', 'setInterval(() => {}, 1_000)', 'SIGINT'],
    ['is killed, as by the watchdog of Vitest', 'setInterval(() => {}, 1_000)', 'SIGKILL'],
  ] as const)('is killed when the process that started it %s', async (_, then, signal) => {
    const script = `
      import { startProcess } from '${path.join(import.meta.dirname, 'child-process.ts')}'
      const { child, stdout } = startProcess('sh', ${JSON.stringify(PARENT)})
      while (stdout() === '') await new Promise((resolve) => child.stdout.once('data', resolve))
      process.stdout.write(stdout(), () => { ${then} })`
    const { child, ended, stdout } = start(process.execPath, ['--input-type=module', '--eval', script])
    const pid = await lineOf(stdout)
    if (signal) child.kill(signal)
    expect(await ended).toBe(signal ? null : 0)
    await hasEnded(pid)
  })

  it('keeps its output, separately and combined', async () => {
    const { ended, output, stderr, stdout } = start('sh', ['-c', 'echo out; echo err >&2; exit 3'])
    expect(await ended).toBe(3)
    expect([stdout(), stderr()]).toEqual(['out\n', 'err\n'])
    expect(output()).toHaveLength('out\nerr\n'.length)
  })

  it('can be given input, also when it does not read it', async () => {
    const { child, ended, stdout } = start('cat', [], { keepInputOpen: true })
    child.stdin.end('words')
    expect(await ended).toBe(0)
    expect(stdout()).toBe('words')
    const deaf = start('true', [], { keepInputOpen: true })
    deaf.child.stdin.end('x'.repeat(1_000_000))
    expect(await deaf.ended).toBe(0)
  })

  it('rejects when the command does not exist', async () => {
    await expect(startProcess('no-such-command', []).ended).rejects.toThrow('ENOENT')
  })
})

it('passes on the compile cache, and no other variable', async () => {
  const printed = async (env: NodeJS.ProcessEnv) => {
    const { ended, stdout } = startProcess(process.execPath, ['-p', 'JSON.stringify(process.env)'], { env })
    await ended
    return JSON.parse(stdout()) as NodeJS.ProcessEnv
  }
  const { NODE_COMPILE_CACHE } = process.env
  expect(NODE_COMPILE_CACHE).toBeTypeOf('string')
  expect(await printed({ A: '1' })).toEqual({ A: '1', NODE_COMPILE_CACHE })
  expect(await printed({ NODE_COMPILE_CACHE: '' })).toEqual({ NODE_COMPILE_CACHE: '' })
})
