// Generates the Prisma client without a network. Plain JavaScript, because it runs from npm's postinstall, where an
// older node may be first on PATH.
import { spawnSync } from 'node:child_process'
import { createRequire } from 'node:module'
import process from 'node:process'

const findCli = () => {
  try {
    return createRequire(import.meta.url).resolve('prisma/build/index.js')
  } catch {
    return undefined
  }
}

const cli = findCli()
if (cli === undefined) {
  process.stderr.write(
    'The Prisma client was not generated: the prisma package, a dev dependency, is missing.\n',
  )
} else {
  const { status, error, stdout, stderr } = spawnSync(process.execPath, [cli, 'generate'], {
    cwd: import.meta.dirname,
    encoding: 'utf8',
    env: {
      ...process.env,
      CHECKPOINT_DISABLE: '1',
      // Any existing file keeps the CLI from downloading its migration engine, which `generate` never starts.
      PRISMA_SCHEMA_ENGINE_BINARY: process.env.PRISMA_SCHEMA_ENGINE_BINARY ?? process.execPath,
    },
  })
  if (status !== 0) {
    process.stderr.write(`${stdout ?? ''}${stderr ?? ''}${error ? `${error.message}\n` : ''}`)
    process.exitCode = 1
  }
}
