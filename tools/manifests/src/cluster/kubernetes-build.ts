import { existsSync, mkdirSync, readFileSync, writeFileSync } from 'node:fs'
import path from 'node:path'
import { run } from './run.ts'

/** The version of Kubernetes that the test starts. */
export const KUBERNETES_VERSION = 'v1.34.4'

/** The programs of Kubernetes that a cluster of the test needs. */
export const COMPONENTS = [
  'kube-apiserver',
  'kube-controller-manager',
  'kube-scheduler',
  'kubelet',
  'kube-proxy',
] as const
type Component = (typeof COMPONENTS)[number]

/**
 * A go.mod with which programs of the module k8s.io/kubernetes can be built. Its own go.mod names the other modules of
 * the project by folders of their repository, which the module does not contain.
 */
export const goModuleOf = (ownGoMod: string, version: string): string => {
  const others = [...ownGoMod.matchAll(/^\t(k8s\.io\/[\w-]+) => \.\/staging\//gm)].map(([, name]) => name)
  if (others.length === 0) throw new Error('The go.mod of k8s.io/kubernetes replaces no modules')
  const released = version.replace(/^v1\./, 'v0.')
  const go = /^go (\S+)$/m.exec(ownGoMod)?.[1]
  return [
    'module cluster',
    '',
    `go ${go}`,
    '',
    `require k8s.io/kubernetes ${version}`,
    '',
    'replace (',
    ...others.map((name) => `\t${name} => ${name} ${released}`),
    ')',
    '',
  ].join('\n')
}

/** What `--version` of a program answers. */
const versionFlags = (version: string): string => {
  const [major, minor] = version.slice(1).split('.')
  const variables = { gitMajor: major, gitMinor: minor, gitVersion: version, gitTreeState: 'clean' }
  return Object.entries(variables)
    .map(([name, value]) => `-X k8s.io/component-base/version.${name}=${value}`)
    .join(' ')
}

const folderOf = (cache: string): string => path.join(cache, `kubernetes-${KUBERNETES_VERSION}`)

/** The path of a program that `buildComponents` has built. */
export const programOf = (component: Component, cache: string): string =>
  path.join(folderOf(cache), component)

/** Builds programs by Go, unless they are in `cache`. Takes minutes. @throws when Go fails */
export const buildComponents = async (components: readonly Component[], cache: string): Promise<void> => {
  const missing = components.filter((component) => !existsSync(programOf(component, cache)))
  if (missing.length === 0) return
  const folder = folderOf(cache)
  mkdirSync(folder, { recursive: true })
  const module = `k8s.io/kubernetes@${KUBERNETES_VERSION}`
  const about = JSON.parse(await run('go', ['list', '-m', '-json', module], { cwd: folder })) as {
    GoMod: string
  }
  writeFileSync(
    path.join(folder, 'go.mod'),
    goModuleOf(readFileSync(about.GoMod, 'utf8'), KUBERNETES_VERSION),
  )
  const flags = ['-mod=mod', '-ldflags', `-s -w ${versionFlags(KUBERNETES_VERSION)}`]
  const packages = missing.map((component) => `k8s.io/kubernetes/cmd/${component}`)
  await run('nice', ['go', 'build', ...flags, '-o', `${folder}/`, ...packages], {
    cwd: folder,
    env: { CGO_ENABLED: '0' },
  })
}
