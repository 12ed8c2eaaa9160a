import { spawnSync } from 'node:child_process'
import { randomUUID } from 'node:crypto'
import { cp, mkdtemp, readFile, rm, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import path from 'node:path'
import { pathToFileURL } from 'node:url'
import { OFREPProvider } from '@openfeature/ofrep-provider'
import { OFREPWebProvider } from '@openfeature/ofrep-web-provider'
import { OpenFeature as Server } from '@openfeature/server-sdk'
import { type Provider, OpenFeature as Web } from '@openfeature/web-sdk'
import { type Constellation, eventually, extent, runCommand, startStandalone } from '@waymark/testing'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'

type Json = { [field: string]: unknown }
type WithExposures = <P extends object>(provider: P, options: { baseUrl: string; apiKey: string }) => P

const DAY_MS = 24 * 60 * 60 * 1_000
const REPORT = '/api/v1/exposures'
const DOCS = path.join(import.meta.dirname, '../../../docs/experiments.md')

/** The example of the documentation in a language that contains a text. */
const exampleWith = async (language: string, text: string): Promise<string> => {
  const examples = (await readFile(DOCS, 'utf8')).matchAll(/```(\w+)\n([\s\S]*?)```/g)
  for (const [, name, code = ''] of examples) if (name === language && code.includes(text)) return code
  throw new Error(`docs/experiments.md has no ${language} with ${text}`)
}

/** Whether SDKs are tested that are downloaded and built first. `npm run test:chaos` does. */
const BUILDS = extent(false, true)
const hasPython = spawnSync('python3', ['-c', 'import ensurepip, venv']).status === 0
if (BUILDS && !hasPython && process.env.CI)
  throw new Error('python3 is missing, and in CI no test may be left out')

/** OpenFeature's SDK needs Go 1.24; older distributions have older ones. */
const goVersion = /go1\.(\d+)/.exec(spawnSync('go', ['version']).stdout?.toString() ?? '')?.[1]
if (BUILDS && goVersion === undefined && process.env.CI)
  throw new Error('go is missing, and in CI no test may be left out')
const hasGo = Number(goVersion ?? 0) >= 24
if (BUILDS && !hasGo) process.stdout.write('Go 1.24 or newer is missing: the test of its SDK is left out.\n')

describe('reported exposures', () => {
  let waymark: Constellation
  let baseUrl: string
  let folder: string

  const post = async (resource: string, body: unknown, headers: Record<string, string> = {}) => {
    const response = await waymark.request(resource, {
      method: 'POST',
      headers: { 'Content-Type': 'application/json', ...headers },
      body: JSON.stringify(body),
    })
    return { status: response.status, body: (await response.json()) as Json }
  }
  const report = (...exposures: Json[]) => post(REPORT, { exposures })
  const split = [
    { variant: 'off', weight: 1 },
    { variant: 'on', weight: 1 },
  ]
  const create = async (more: Json = {}): Promise<string> => {
    const key = `d-${randomUUID()}`
    const { status } = await post(`/api/projects/${waymark.projectId}/decisions`, {
      key,
      status: 'active',
      variants: [
        { key: 'off', value: false },
        { key: 'on', value: true },
        { key: 'unused', value: true },
      ],
      fallbackVariant: 'off',
      rules: [
        { id: 'staff', condition: { '==': [{ var: 'context.plan' }, 'staff'] }, variant: 'on' },
        { id: 'halves', split },
      ],
      ...more,
    })
    expect(status).toBe(201)
    await eventually('it is known', async () => {
      const { body } = await post('/ofrep/v1/evaluate/flags', { context: { targetingKey: 'probe' } })
      return (body.flags as { key: string }[]).some((flag) => flag.key === key) || more.status === 'draft'
    })
    return key
  }
  /** People by variant in the results, which count splits. */
  const seenIn = async (key: string) => {
    const response = await waymark.request(`/api/projects/${waymark.projectId}/decisions/${key}/results`)
    return ((await response.json()) as { sampleRatio: { seen: Record<string, number> } }).sampleRatio.seen
  }
  const expectSeen = async (key: string, seen: Record<string, number>) => {
    await eventually('they are counted', async () => {
      const counted = await seenIn(key)
      return JSON.stringify(counted) === JSON.stringify(seen)
    }).catch(() => undefined)
    expect(await seenIn(key)).toEqual(seen)
  }

  beforeAll(async () => {
    waymark = await startStandalone()
    baseUrl = new URL((await waymark.request('/healthz')).url).origin
    folder = await mkdtemp(path.join(tmpdir(), 'waymark-exposures-'))
  })
  afterAll(async () => {
    await Promise.all([Server.close(), Web.close()])
    await waymark?.stop()
    if (folder) await rm(folder, { recursive: true, force: true })
  })

  it('count a person once, for the first variant', async () => {
    const key = await create()
    const at = (hours: number) => new Date(Date.now() - hours * 3_600_000).toISOString()
    const one = { key, visitorId: 'one', ruleId: 'halves' }
    const reply = await report(
      { ...one, variant: 'off', at: at(30) },
      { ...one, variant: 'on', at: at(50) },
      { key, variant: 'off', ruleId: 'halves', userId: 'two' },
      // The rule for staff is no split.
      { key, variant: 'on', ruleId: 'staff', visitorId: 'three' },
    )
    expect(reply).toEqual({ status: 202, body: { accepted: 4, ignored: [] } })
    expect((await report({ ...one, variant: 'on', at: at(50) })).status).toBe(202)
    await expectSeen(key, { off: 1, on: 1 })
  })

  it('are ignored with a reason when they cannot count', async () => {
    const [key, draft] = [await create(), await create({ status: 'draft' })]
    const old = (age: number) => new Date(Date.now() - 7 * DAY_MS + age).toISOString()
    const some = { key, variant: 'on', visitorId: 'v' }
    const { status, body } = await report(
      { ...some, key: 'nobody-knows' },
      { ...some, key: draft },
      { ...some, variant: 'unused' },
      { ...some, ruleId: 'nobody-knows' },
      { ...some, at: old(-1_000) },
      { ...some, at: old(60_000) },
      { ...some, at: 'yesterday' },
    )
    expect([status, body.accepted]).toEqual([202, 1])
    expect(body.ignored).toEqual([
      { index: 0, reason: 'There is no active or paused decision nobody-knows' },
      { index: 1, reason: `There is no active or paused decision ${draft}` },
      { index: 2, reason: `No rule of ${key} gives the variant unused` },
      { index: 3, reason: `The rule nobody-knows of ${key} does not give the variant on` },
      { index: 4, reason: 'at is more than 7 days ago' },
      { index: 6, reason: expect.stringContaining('at must be a time in ISO 8601') },
    ])
  })

  it('must name a person, and are at most 100', async () => {
    const key = await create()
    const some = { key, variant: 'on', ruleId: 'halves', visitorId: 'v' }
    const many = (n: number) => report(...Array.from({ length: n }, () => some))
    expect(await many(100)).toMatchObject({ status: 202, body: { accepted: 100 } })
    expect((await many(101)).status).toBe(400)
    expect((await many(0)).status).toBe(400)
    expect(await report({ key, variant: 'on' })).toMatchObject({
      status: 400,
      body: { error: expect.stringContaining('exposures.0') },
    })
    expect(await report({ key, variant: 'on' }, some, { ...some, at: 'noon' })).toMatchObject({
      status: 202,
      body: { accepted: 1, ignored: [{ index: 0 }, { index: 2, reason: expect.stringContaining('at ') }] },
    })
    expect((await report({ ...some, visitorId: 'v'.repeat(201) })).status).toBe(400)
  })

  it('need the scope decide', async () => {
    const { body } = await post(`/api/projects/${waymark.projectId}/api-keys`, {
      name: 'k',
      kind: 'sec',
      scopes: ['events:write'],
    })
    const denied = await post(REPORT, { exposures: [] }, { 'X-API-Key': String(body.key) })
    expect(denied).toMatchObject({ status: 403, body: { requiredScope: 'decide' } })
  })

  const loadWithExposures = async (): Promise<WithExposures> => {
    const file = path.join(folder, 'with-exposures.mjs')
    await writeFile(file, await exampleWith('js', 'export const withExposures'))
    return ((await import(/* @vite-ignore */ pathToFileURL(file).href)) as { withExposures: WithExposures })
      .withExposures
  }

  it('come from the web SDK of OpenFeature when it tracks them, and not from its fetch of all flags', async () => {
    const withExposures = await loadWithExposures()
    const key = await create()
    const options = { baseUrl, apiKey: waymark.apiKey }
    const provider = withExposures(
      new OFREPWebProvider({
        baseUrl,
        headers: [['X-API-Key', waymark.apiKey]],
        pollInterval: 0,
        cacheMode: 'disabled',
      }),
      options,
    )
    // Its optional fields allow undefined, which the SDK's type does not.
    await Web.setProviderAndWait(key, provider as Provider, { targetingKey: `v-${key}` })
    const client = Web.getClient(key)
    const { variant = '', flagMetadata } = client.getBooleanDetails(key, false)
    expect(flagMetadata).toMatchObject({ ruleId: 'halves' })
    await expectSeen(key, {})
    client.track('checkout')
    for (let n = 0; n < 2; n++)
      client.track('exposure', { key, variant, ruleId: String(flagMetadata.ruleId) })
    await expectSeen(key, { off: variant === 'off' ? 1 : 0, on: variant === 'on' ? 1 : 0 })
  })

  it('come from the server SDK of OpenFeature when it evaluates, and count once when it tracks them too', async () => {
    const withExposures = await loadWithExposures()
    const key = await create()
    const provider = withExposures(new OFREPProvider({ baseUrl, headers: [['X-API-Key', waymark.apiKey]] }), {
      baseUrl,
      apiKey: waymark.apiKey,
    })
    await Server.setProviderAndWait(key, provider)
    const client = Server.getClient(key)
    const context = { targetingKey: `v-${key}` }
    const { variant = '', flagMetadata } = await client.getBooleanDetails(key, false, context)
    const seen = { off: variant === 'off' ? 1 : 0, on: variant === 'on' ? 1 : 0 }
    await expectSeen(key, seen)
    client.track('exposure', context, { key, variant, ruleId: String(flagMetadata.ruleId) })
    const other = { targetingKey: `w-${key}` }
    client.track('exposure', other, { key, variant, ruleId: String(flagMetadata.ruleId) })
    await expectSeen(key, { off: seen.off * 2, on: seen.on * 2 })
  })

  if (!BUILDS) return

  const run = (command: string, args: readonly string[], cwd = folder): Promise<string> =>
    runCommand(command, args, { cwd, env: { CGO_ENABLED: '0' } })

  it.skipIf(!hasGo)('come from Go’s SDK of OpenFeature when it evaluates', async () => {
    const key = await create()
    const cwd = path.join(folder, 'go')
    await cp(path.join(import.meta.dirname, 'go'), cwd, { recursive: true })
    await run('go', ['build', '-o', 'program', '.'], cwd)
    const args = [baseUrl, waymark.apiKey, key, `v-${key}`]
    const { split: chosen, ...others } = JSON.parse(await run(path.join(cwd, 'program'), args)) as {
      split: { variant: string; reason: string; ruleId: string }
    }
    expect(chosen).toMatchObject({ reason: 'SPLIT', ruleId: 'halves' })
    expect(others).toEqual({
      targeted: { value: true, variant: 'on', reason: 'TARGETING_MATCH' },
      unknown: { value: true, errorCode: 'FLAG_NOT_FOUND' },
    })
    await expectSeen(key, { off: chosen.variant === 'off' ? 1 : 0, on: chosen.variant === 'on' ? 1 : 0 })
  })

  it.skipIf(!hasPython)('come from Python’s SDK of OpenFeature', async () => {
    const key = await create()
    await run('python3', ['-m', 'venv', 'venv'])
    const python = path.join(folder, 'venv/bin/python')
    const pip = ['-m', 'pip', 'install', '--quiet', '--disable-pip-version-check']
    await run(python, [...pip, 'openfeature-sdk==0.10.0', 'openfeature-provider-ofrep==0.3.0'])
    const program = `${await exampleWith('python', 'class ExposureProvider')}

import sys
from openfeature import api
from openfeature.evaluation_context import EvaluationContext
from openfeature.track import TrackingEventDetails

url, api_key, key = sys.argv[1:]
api.set_provider(ExposureProvider(url, headers_factory=lambda: {"X-API-Key": api_key}))
client = api.get_client()
details = client.get_boolean_details(key, False, EvaluationContext(f"v-{key}"))
assert details.variant in ("off", "on"), details
for visitor in (f"v-{key}", f"w-{key}"):
    client.track(
        "exposure",
        EvaluationContext(visitor),
        TrackingEventDetails(
            attributes={"key": key, "variant": details.variant, "ruleId": details.flag_metadata["ruleId"]}
        ),
    )
`
    await writeFile(path.join(folder, 'program.py'), program)
    await run(python, ['program.py', baseUrl, waymark.apiKey, key])
    await eventually('both visitors are counted', async () => {
      const { off = 0, on = 0 } = await seenIn(key)
      return off + on === 2
    })
  })
})
