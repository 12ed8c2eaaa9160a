// Refuses to install where no Node.js can run the product. Plain JavaScript, because an older one may run this.
import process from 'node:process'

/** The oldest version that has all that the product uses: `argon2` in `node:crypto` is the newest. */
const OLDEST = { major: 24, minor: 7 }

const version = process.argv[2] ?? process.version
const [major = 0, minor = 0] = version.slice(1).split('.').map(Number)
if (major < OLDEST.major || (major === OLDEST.major && minor < OLDEST.minor)) {
  process.stderr.write(
    `Waymark runs on Node.js ${OLDEST.major}.${OLDEST.minor} or newer; this is ${version}. On Linux and Windows (x64, Linux also arm64), npm ` +
      'installs Node.js 24 with the optional dependencies: do not omit them. Elsewhere, install Node.js 24.\n',
  )
  process.exitCode = 1
}
