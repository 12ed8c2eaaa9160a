// Refuses to install where no Node.js can run the product. Plain JavaScript, because an older one may run this.
import process from 'node:process'

/** The oldest major version that runs TypeScript files and all that they use. */
const OLDEST = 24

const version = process.argv[2] ?? process.version
if (Number.parseInt(version.replace('v', ''), 10) < OLDEST) {
  process.stderr.write(
    `Waymark runs on Node.js ${OLDEST} or newer; this is ${version}. On Linux and Windows (x64, Linux also arm64), npm ` +
      'installs Node.js 24 with the optional dependencies: do not omit them. Elsewhere, install Node.js 24.\n',
  )
  process.exitCode = 1
}
