import type { Operation } from '@waymark/contracts/http/operation'
import { operations } from '@waymark/contracts/http/operations'
import { updateSettings } from '@waymark/contracts/http/settings'
import { isTransient } from '@waymark/database'
import { extent, services, untilAvailable } from '@waymark/testing'
import fc from 'fast-check'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { createSender, type RawAnswer } from './fuzz/send.ts'
import { type RawRequest, spoilings, spoilt } from './fuzz/spoilt-request.ts'
import { asOwner } from './openapi/example.ts'
import { examples } from './openapi/examples.ts'
import { type Call, startWorld, type World } from './openapi/world.ts'

/** Requests for each operation: a few in `npm test`, all with `npm run test:fuzz`. */
const RUNS = Number(process.env.FUZZ_RUNS || extent(6, 100))
const isOfProject = ({ path }: Operation): boolean => path.startsWith('/api/projects/')
/** `npm run test:chaos` sends as many to public operations, and a part to those of a project. */
const runsOf = (operation: Operation): number =>
  isOfProject(operation) ? RUNS : extent(RUNS, Math.max(RUNS, 10_000))
/** `npm test` takes one in so many operations of a project, which share most of their code, and all others. */
const ONE_IN = process.env.FUZZ_RUNS ? 1 : extent(3, 1)
const taken = operations.filter((operation, index) => !isOfProject(operation) || index % ONE_IN === 0)
const REPORT = extent(Boolean(process.env.FUZZ_REPORT), true)
/** The same requests in every run of `npm test`. In the longer runs they differ; the printed seed repeats a run. */
const SEED = Number(process.env.FUZZ_SEED || (REPORT ? Math.floor(Math.random() * 2 ** 31) : 1))
/** After this many requests, the successful one is created again, because its resource may be gone. */
const RENEW_AFTER = 100

/** Texts that reveal the internals of a server. */
const LEAK = /node_modules|\.ts:\d+|PrismaClient|violates \w+ constraint|syntax error at or near/

const tags = [...new Set(taken.map(({ tag }) => tag))]
const describeRequest = ({ method, path, headers, body }: RawRequest): string =>
  `${method} ${path.slice(0, 500)} ${JSON.stringify(headers).slice(0, 500)} ${body?.subarray(0, 500).toString('latin1')}`

const complaintAbout = ({ answers }: Operation, { status, type, text }: RawAnswer): string | undefined => {
  if (status >= 500) return 'is a failure of the server'
  if (LEAK.test(text)) return 'shows the insides of the server'
  if (status < 400 || answers[status]?.contentTypes) return undefined
  if (!type.startsWith('application/json')) return 'is not JSON'
  const error: unknown = Reflect.get(Object(JSON.parse(text)), 'error')
  return typeof error === 'string' ? undefined : 'does not say what is wrong'
}

/** Whether a store did not answer a cache in time. */
const isLate = (error: unknown): boolean =>
  error instanceof Error && (/^No answer within \d+ ms$/.test(error.message) || isLate(error.cause))

process.stdout.write(`fuzz: repeat it with FUZZ_SEED=${SEED} FUZZ_RUNS=${RUNS}\n`)

describe.skipIf(!services)(`invalid requests (FUZZ_SEED=${SEED})`, () => {
  let world: World
  let sender: ReturnType<typeof createSender>
  beforeAll(async () => {
    world = await startWorld(1_000_000)
    sender = createSender(world.baseUrl)
  })
  afterAll(async () => {
    sender?.close()
    await world?.stop()
  })

  describe.each(tags)('%s', (tag) => {
    let linesBefore: number
    beforeAll(() => {
      linesBefore = world.said.length
    })

    const goodCall = async ({ id }: Operation): Promise<Call> => {
      const example = examples.get(id)
      if (!example) throw new Error(`${id} has no example`)
      const good = await example.good(world)
      // Settings of the shared project that would refuse the other requests.
      return id === updateSettings.id ? asOwner(world, good) : good
    }

    const ofTag = taken.filter((operation) => operation.tag === tag)
    it.each(ofTag)('$id', { timeout: 60_000 + Math.max(...ofTag.map(runsOf)) * 100 }, async (operation) => {
      let sent = 0
      const statuses = new Map<number, number>()
      let good = await goodCall(operation)
      await fc.assert(
        fc.asyncProperty(spoilings(operation), async (spoiling) => {
          if (++sent % RENEW_AFTER === 0) good = await goodCall(operation)
          const request = spoilt(operation, good, spoiling, world)
          const answer = await untilAvailable(() => sender.send(request)).catch((error: unknown) => {
            throw new Error(`no answer to ${describeRequest(request)}`, { cause: error })
          })
          statuses.set(answer.status, (statuses.get(answer.status) ?? 0) + 1)
          const complaint = complaintAbout(operation, answer)
          if (complaint !== undefined)
            throw new Error(
              `${answer.status} ${answer.text.slice(0, 300)} ${complaint}, to ${describeRequest(request)}`,
            )
        }),
        { numRuns: runsOf(operation), seed: SEED },
      )
      if (REPORT)
        process.stdout.write(
          `fuzz: ${operation.id} ${sent} ${JSON.stringify(Object.fromEntries(statuses))}\n`,
        )
      const { status } = await world.call(operation, await goodCall(operation))
      expect(status).toBeLessThan(400)
    })

    it('logged no internal error', () => {
      const isProblem = ({ level, message, details }: World['said'][number]): boolean =>
        (level === 'warn' || level === 'error') &&
        // On a busy machine, a lookup may exceed its 50 ms, a read of a cache its second, and the database the time for a
        // connection or a transaction.
        !message.startsWith('Profile lookup failed') &&
        !isTransient(Reflect.get(details, 'err')) &&
        !isLate(Reflect.get(details, 'err'))
      expect(world.said.slice(linesBefore).filter(isProblem)).toEqual([])
    })
  })
})
