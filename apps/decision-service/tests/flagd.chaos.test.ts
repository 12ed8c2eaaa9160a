import { spawnSync } from 'node:child_process'
import { mkdtemp, rm, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import path from 'node:path'
import { eventually, extent, freePort, runCommand, startStandalone } from '@waymark/testing'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'

const PEOPLE = extent(500, 10_000)
const TOGETHER = 20

const hasPython = spawnSync('python3', ['-c', 'import ensurepip, venv']).status === 0
if (!hasPython && process.env.CI) throw new Error('python3 is missing, and in CI no test may be left out')

const PROGRAM = `
import json, sys, time
from openfeature import api
from openfeature.contrib.provider.flagd import FlagdProvider
from openfeature.contrib.provider.flagd.config import ResolverType
from openfeature.evaluation_context import EvaluationContext

port, key, flag, people = sys.argv[1:]
api.set_provider(FlagdProvider(
    host="127.0.0.1", port=int(port), resolver_type=ResolverType.IN_PROCESS, selector=key, deadline_ms=60000
))
client = api.get_client()
while client.get_boolean_details(flag, False).variant is None:
    time.sleep(0.1)
evaluate = lambda person: client.get_boolean_details(flag, False, EvaluationContext(person["id"], person["context"]))
with open(people) as file:
    print(json.dumps([evaluate(person).variant for person in json.load(file)]))
`

describe.skipIf(!hasPython)('flagd’s provider for Python', () => {
  let waymark: Awaited<ReturnType<typeof startStandalone>>
  let syncPort: number
  let folder: string

  const post = async (resource: string, body: unknown) => {
    const response = await waymark.request(resource, {
      method: 'POST',
      headers: { 'Content-Type': 'application/json' },
      body: JSON.stringify(body),
    })
    return (await response.json()) as Record<string, unknown>
  }

  beforeAll(async () => {
    syncPort = await freePort()
    waymark = await startStandalone({
      FLAG_SYNC_PORT: `${syncPort}`,
      LIMIT_DECIDE_PER_MINUTE: '1000000',
    })
    folder = await mkdtemp(path.join(tmpdir(), 'waymark-flagd-'))
  })
  afterAll(async () => {
    await waymark?.stop()
    if (folder) await rm(folder, { recursive: true, force: true })
  })

  it.each([
    ['flagd', '0.5.2', 'user'],
    ['flagd-cbor', '0.6.1', 'Benutzer ä 用'],
  ])(
    'gives the same as `/api/v1/decide` with the buckets %s, in version %s',
    async (bucketing, version, id) => {
      const condition = {
        or: [
          { and: [{ '==': [{ var: 'context.plan' }, 'pro'] }, { '>=': [{ var: 'context.age' }, 18] }] },
          { in: [{ var: 'context.country' }, ['DE', 'AT']] },
        ],
      }
      const weights = { off: 2, on: 3 }
      const created = await post(`/api/projects/${waymark.projectId}/decisions`, {
        key: bucketing,
        status: 'active',
        bucketing,
        salt: 'salt',
        variants: [
          { key: 'off', value: false },
          { key: 'on', value: true },
        ],
        fallbackVariant: 'off',
        holdout: 10,
        rules: [
          {
            id: 'beta',
            condition: { '!': [{ '==': [{ var: 'context.beta' }, true] }] },
            rollout: 33.33,
            variant: 'on',
          },
          {
            id: 'some',
            condition,
            split: Object.entries(weights).map(([variant, weight]) => ({ variant, weight })),
          },
        ],
      })
      expect(created).toMatchObject({ local: true })
      const people = Array.from({ length: PEOPLE }, (_, n) => ({
        id: `${id}-${n}`,
        context: {
          ...(n % 3 > 0 && { plan: n % 3 === 1 ? 'pro' : 'free' }),
          ...(n % 4 > 0 && { age: n % 60 }),
          ...(n % 5 > 0 && { country: ['DE', 'FR', 'AT', ''][n % 4] }),
          ...(n % 2 > 0 && { beta: n % 7 > 3 }),
        },
      }))
      const decide = async ({ id: visitorId, context }: (typeof people)[number]) => {
        const { decisions } = await post('/api/v1/decide', { visitorId, context, keys: [bucketing] })
        return (decisions as { variant: string | null }[])[0]?.variant
      }
      await eventually('it is known', async () => (await decide({ id, context: {} })) != null)
      const expected: unknown[] = []
      for (let from = 0; from < PEOPLE; from += TOGETHER)
        expected.push(...(await Promise.all(people.slice(from, from + TOGETHER).map(decide))))

      const venv = `venv-${version}`
      const run = (command: string, args: string[]) => runCommand(command, args, { cwd: folder })
      await run('python3', ['-m', 'venv', venv])
      const python = path.join(folder, venv, 'bin/python')
      const pip = ['-m', 'pip', 'install', '--quiet', '--disable-pip-version-check']
      await run(python, [...pip, `openfeature-provider-flagd==${version}`])
      await writeFile(path.join(folder, 'program.py'), PROGRAM)
      await writeFile(path.join(folder, 'people.json'), JSON.stringify(people))
      const output = await run(python, [
        'program.py',
        `${syncPort}`,
        waymark.apiKey,
        bucketing,
        'people.json',
      ])
      expect(JSON.parse(`${output}`)).toEqual(expected)
      expect(new Set(expected)).toEqual(new Set(['off', 'on']))
    },
  )
})
