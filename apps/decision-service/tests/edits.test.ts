import { eventually, services } from '@waymark/testing'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { type Edit, numbered, type Processes, startProcesses } from './start-processes.ts'

const EDITS = 12

type Flag = { variant?: string; value?: unknown; ruleId?: string; metadata?: { ruleId?: string } }
type Answer = { replica: number; path: string; status: number; n: number; isWhole: boolean }

const PATHS = ['/ofrep/v1/evaluate/flags', '/ofrep/v1/evaluate/flags/edited', '/api/v1/decide']

describe.skipIf(!services)('a decision that is edited while it is asked for', () => {
  let processes: Processes
  let edit: Edit
  let key: string
  beforeAll(async () => {
    processes = await startProcesses(2)
    key = await processes.addKey(1_000_000)
    edit = await processes.addDecision('edited', numbered(0))
  })
  afterAll(() => processes?.stop())

  const ask = async (replica: number, path: string): Promise<Answer> => {
    const response = await fetch(`http://localhost:${processes.ports[replica]}${path}`, {
      method: 'POST',
      headers: { 'Content-Type': 'application/json', 'X-API-Key': key },
      body: JSON.stringify(
        path.startsWith('/ofrep/') ? { context: { targetingKey: 'v' } } : { visitorId: 'v' },
      ),
    })
    const body = (await response.json()) as Flag & { flags?: Flag[]; decisions?: Flag[] }
    const flag = (body.flags ?? body.decisions)?.[0] ?? body
    const n = Number(flag.value)
    const isWhole = flag.variant === `on-${n}` && (flag.ruleId ?? flag.metadata?.ruleId) === `rule-${n}`
    return { replica, path, status: response.status, n, isWhole }
  }

  it('fails no request, answers by one version each time, and by the newest in the end', async () => {
    await eventually('both know it', async () => {
      const answers = await Promise.all([ask(0, PATHS[1] ?? ''), ask(1, PATHS[1] ?? '')])
      return answers.every(({ status }) => status === 200)
    })
    const answers: Answer[] = []
    let sending = true
    const send = async (replica: number, path: string): Promise<void> => {
      let newest = 0
      while (sending) {
        const answer = await ask(replica, path)
        // Of one sender, so that each request follows the answer to the one before.
        answers.push({ ...answer, isWhole: answer.isWhole && answer.n >= newest })
        newest = answer.n
      }
    }
    const senders = [0, 1].flatMap((replica) => PATHS.map((path) => send(replica, path)))
    for (let n = 1; n <= EDITS; n++) {
      await edit(numbered(n))
      await eventually('a process answers by this version or a later one', () =>
        answers.some((answer) => answer.n >= n),
      )
    }
    await eventually('every process answers by the newest version', async () => {
      const newest = await Promise.all([0, 1].map((replica) => ask(replica, PATHS[0] ?? '')))
      return newest.every(({ n }) => n === EDITS)
    })
    sending = false
    await Promise.all(senders)

    expect(answers.filter(({ status, isWhole }) => status !== 200 || !isWhole)).toEqual([])
    const kinds = new Set(answers.map(({ replica, path }) => `${replica} ${path}`))
    expect(kinds.size).toBe(6)
    // Both the old and the new one were asked for.
    expect(new Set(answers.map(({ n }) => n)).size).toBeGreaterThan(2)
  })
})
