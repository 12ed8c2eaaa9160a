import path from 'node:path'
import ts from 'typescript'
import type { KubernetesObject } from './render.ts'

/** Packages with the types of Kubernetes objects, by the suffix of their API group. */
const PACKAGES = [
  ['keda.sh', '@kubernetes-models/keda'],
  ['cnpg.io', '@kubernetes-models/cloudnative-pg'],
  ['monitoring.coreos.com', '@kubernetes-models/prometheus-operator'],
] as const
/** API groups of operators without types on npm. */
const UNDESCRIBED = [
  'kafka.strimzi.io',
  'clickhouse.altinity.com',
  'clickhouse-keeper.altinity.com',
  'barmancloud.cnpg.io',
]

const HERE = path.resolve(import.meta.dirname, 'rendered-objects.ts')
/** The parsed files of packages, which do not change while this process runs. */
const packageFiles = new Map<string, ts.SourceFile | undefined>()

/** The module that describes the object's kind, or undefined when there is none. */
const moduleOf = ({ apiVersion, kind }: KubernetesObject): string | undefined => {
  const group = apiVersion.includes('/') ? apiVersion.slice(0, apiVersion.indexOf('/')) : ''
  if (UNDESCRIBED.includes(group)) return undefined
  const name = PACKAGES.find(([suffix]) => group.endsWith(suffix))?.[1] ?? 'kubernetes-models'
  return `${name}/${apiVersion}/${kind}`
}

type Template = { name: string; spec: object }
/** The lists of templates in resources of the operator of ClickHouse, and the kinds of their specs. */
const TEMPLATES = {
  podTemplates: 'Pod',
  volumeClaimTemplates: 'PersistentVolumeClaim',
  serviceTemplates: 'Service',
} as const

/** Objects, and those that the operator of ClickHouse makes of templates, whose specs its own schemas do not describe. */
const withTemplates = (objects: readonly KubernetesObject[]): KubernetesObject[] =>
  objects.flatMap((object) => {
    if (!/^clickhouse(-keeper)?\.altinity\.com\//.test(object.apiVersion)) return [object]
    const { templates = {} } = object.spec as { templates?: Record<string, Template[]> }
    const made = Object.entries(TEMPLATES).flatMap(([list, kind]) =>
      (templates[list] ?? []).map(({ name, spec }) => ({
        apiVersion: 'v1',
        kind,
        spec,
        metadata: { name: `${object.kind} ${object.metadata.name}, ${name}` },
      })),
    )
    return [object, ...made]
  })

type Validated = { validate(): void }

/** Errors in the values of objects, by the schemas of their API. */
export const schemaProblems = async (objects: readonly KubernetesObject[]): Promise<string[]> => {
  const problems: string[] = []
  for (const object of withTemplates(objects)) {
    const module = moduleOf(object)
    if (module === undefined) continue
    try {
      const exported = (await import(module)) as Record<string, new (data: object) => Validated>
      const Model = exported[object.kind]
      if (!Model) throw new Error('has an unknown kind')
      new Model(object).validate()
    } catch (error) {
      problems.push(
        `${object.kind} ${object.metadata.name} ${error instanceof Error ? error.message : error}`,
      )
    }
  }
  return problems
}

/**
 * Fields that the API does not know, such as misspelt or misplaced ones. Schemas accept them, but the API server would
 * refuse them. The TypeScript compiler checks the objects as literals against the types of their kinds.
 */
export const unknownFields = (objects: readonly KubernetesObject[]): string[] => {
  const described = withTemplates(objects).filter((object) => moduleOf(object) !== undefined)
  const source = described
    .map((object, index) => {
      const imported = `import type { I${object.kind} as T${index} } from '${moduleOf(object)}'`
      return `${imported}\nexport const o${index}: T${index} = ${JSON.stringify(object, undefined, 1)}\n`
    })
    .join('')
  const options: ts.CompilerOptions = {
    noEmit: true,
    strict: true,
    skipLibCheck: true,
    // Without the types of browsers, which take longer to read than all others.
    lib: ['lib.es2022.d.ts'],
    module: ts.ModuleKind.NodeNext,
    moduleResolution: ts.ModuleResolutionKind.NodeNext,
    types: [],
  }
  const host = ts.createCompilerHost(options)
  const { fileExists, getSourceFile } = host
  host.fileExists = (file) => file === HERE || fileExists(file)
  host.getSourceFile = (file, version, ...rest) => {
    if (file === HERE) return ts.createSourceFile(file, source, version)
    if (!packageFiles.has(file)) packageFiles.set(file, getSourceFile(file, version, ...rest))
    return packageFiles.get(file)
  }
  const program = ts.createProgram([HERE], options, host)
  return ts.getPreEmitDiagnostics(program).map(({ file, start = 0, messageText }) => {
    const before = source.slice(0, start)
    const index = Number(/.*export const o(\d+):/s.exec(before)?.[1] ?? -1)
    const { kind, metadata } = described[index] ?? { kind: file?.fileName ?? '', metadata: { name: '' } }
    return `${kind} ${metadata.name}: ${ts.flattenDiagnosticMessageText(messageText, ' ')}`
  })
}
