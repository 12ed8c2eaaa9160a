import { execFileSync } from 'node:child_process'
import { existsSync, mkdirSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import path from 'node:path'
import { serviceNames } from '@waymark/database'
import { afterEach, beforeEach, expect, it } from 'vitest'
import { parse } from 'yaml'
import { hasHelm, renderChart } from './helm.ts'
import { workloadsOf } from './workloads.ts'

const ROOT = path.resolve(import.meta.dirname, '../../..')
const PREFIX = 'registry.example.com/waymark/'
const APPS = [...serviceNames, 'setup']
/** The images that are published. Kubernetes runs all but one of them. */
const IMAGES = [...APPS, 'standalone']
const DIGEST = `sha256:${'a'.repeat(64)}`

let folder = ''
/** A copy of what release.sh reads, with a version that the changelog describes. */
let copy = ''
beforeEach(() => {
  folder = mkdtempSync(path.join(tmpdir(), 'release-'))
  copy = path.join(folder, 'waymark')
  mkdirSync(path.join(copy, 'deploy/docker'), { recursive: true })
  for (const name of ['build.sh', 'release.sh'])
    writeFileSync(
      path.join(copy, 'deploy/docker', name),
      readFileSync(path.join(ROOT, 'deploy/docker', name)),
      { mode: 0o755 },
    )
  writeFileSync(path.join(copy, 'package.json'), '{\n  "version": "1.2.3",\n}\n')
  writeFileSync(path.join(copy, 'CHANGELOG.md'), '## [1.2.3] - 2026-11-25\n')
  mkdirSync(path.join(folder, 'bin'))
  command('docker', `case "$*" in *inspect*) echo "$5" | sed 's/:1.2.3$/@${DIGEST}/' ;; esac`)
  command('syft', 'echo "$*" | sed "s/.*spdx-json=//" | xargs touch')
  command('cosign', ':')
})
afterEach(() => rmSync(folder, { recursive: true }))

/** A fake command, which also records its arguments. */
const command = (name: string, script: string): void =>
  writeFileSync(
    path.join(folder, 'bin', name),
    `#!/usr/bin/env bash\necho "${name} $*" >>'${folder}/calls'\n${script}\n`,
    { mode: 0o755 },
  )
const release = (env: Record<string, string> = { PREFIX }): string =>
  execFileSync(path.join(copy, 'deploy/docker/release.sh'), [], {
    encoding: 'utf8',
    env: { PATH: `${folder}/bin:/usr/bin:/bin`, ...env },
    stdio: 'pipe',
  })
const calls = (): string[] => readFileSync(path.join(folder, 'calls'), 'utf8').trim().split('\n')

it('pushes every image, and signs its digest and its bill of materials', () => {
  release()
  for (const app of IMAGES) {
    const image = `${PREFIX}${app}@${DIGEST}`
    expect(calls()).toEqual(
      expect.arrayContaining([
        `docker push --quiet ${PREFIX}${app}:1.2.3`,
        `syft scan registry:${image} --quiet --output spdx-json=release/${app}.spdx.json`,
        `cosign sign --yes ${image}`,
        `cosign attest --yes --type spdxjson --predicate release/${app}.spdx.json ${image}`,
      ]),
    )
  }
  expect(calls().filter((call) => call.startsWith('docker push'))).toHaveLength(IMAGES.length)
})

it('writes a component that names the images by digest', () => {
  release({ PREFIX, COSIGN_KEY: 'cosign.key' })
  const { images } = parse(readFileSync(path.join(copy, 'release/kustomization.yaml'), 'utf8')) as {
    images: { name: string; newName: string; digest: string }[]
  }
  expect(images).toHaveLength(APPS.length)
  for (const app of APPS)
    expect(images).toContainEqual({ name: `waymark/${app}`, newName: `${PREFIX}${app}`, digest: DIGEST })
  expect(calls()).toContain(`cosign sign --yes --key cosign.key ${PREFIX}setup@${DIGEST}`)
})

it.skipIf(!hasHelm())('writes values for the Helm chart that name the images by digest', () => {
  release()
  const values = parse(readFileSync(path.join(copy, 'release/values.yaml'), 'utf8')) as object
  const images = workloadsOf(renderChart(values)).map(({ pod }) => pod.containers[0]?.image)
  expect(new Set(images)).toEqual(new Set(APPS.map((app) => `${PREFIX}${app}@${DIGEST}`)))
})

it('verifies each signature by the digest of its image', () => {
  release({ PREFIX, COSIGN_KEY: 'keys/cosign.key' })
  const identity = 'https://github.com/shop/waymark/.github/workflows/release.yml@refs/tags/v1.2.3'
  const issuer = 'https://token.actions.githubusercontent.com'
  release({ PREFIX, COSIGN_IDENTITY: identity, COSIGN_ISSUER: issuer })
  const by = `--certificate-identity ${identity} --certificate-oidc-issuer ${issuer}`
  for (const app of IMAGES) {
    expect(calls()).toContain(`cosign verify --key keys/cosign.pub ${PREFIX}${app}@${DIGEST}`)
    expect(calls()).toContain(`cosign verify ${by} ${PREFIX}${app}@${DIGEST}`)
  }
})

it('publishes only the named images', () => {
  release({ PREFIX, IMAGES: 'setup standalone' })
  const pushed = calls().filter((call) => call.startsWith('docker push'))
  expect(pushed).toEqual(['setup', 'standalone'].map((app) => `docker push --quiet ${PREFIX}${app}:1.2.3`))
})

it('signs nothing and needs no section of the changelog in a rehearsal that says so', () => {
  writeFileSync(path.join(copy, 'CHANGELOG.md'), '## [Unreleased]\n')
  release({ PREFIX, SIGNING: 'off', UNRELEASED: 'true' })
  expect(calls().filter((call) => !call.startsWith('docker'))).toEqual([])
})

it('writes no component and no values when a signature fails', () => {
  command('cosign', 'exit 1')
  expect(() => release()).toThrow()
  expect(existsSync(path.join(copy, 'release/kustomization.yaml'))).toBe(false)
  expect(existsSync(path.join(copy, 'release/values.yaml'))).toBe(false)
})

it('refuses a version that is not in the changelog, another tag, and a missing registry', () => {
  expect(() => release({ PREFIX, TAG: '1.2.4' })).toThrow(/TAG is 1.2.4, and the version/)
  expect(() => release({})).toThrow(/set PREFIX/)
  writeFileSync(path.join(copy, 'CHANGELOG.md'), '## [1.2.2]\n')
  expect(() => release()).toThrow(/CHANGELOG.md has no section for 1.2.3/)
  expect(existsSync(path.join(folder, 'calls'))).toBe(false)
})
