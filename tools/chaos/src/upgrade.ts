import { checkOut } from './check-out.ts'
import { previousVersion } from './previous-version.ts'
import { run } from './run.ts'

// Runs the upgrade test from the tag or commit that the first argument names, or from the previous version.
// UPGRADE_DIR keeps installed versions for the next run.
const stopping = new AbortController()
for (const signal of ['SIGINT', 'SIGTERM', 'SIGHUP'] as const) process.on(signal, () => stopping.abort())
const { signal } = stopping

const { name, commit } = previousVersion(process.argv[2])
process.stdout.write(`Installing the previous version, ${name}\n`)
const { root, remove } = await checkOut(commit, { keptIn: process.env.UPGRADE_DIR, signal })
try {
  const env = { ...process.env, UPGRADE_FROM: name, UPGRADE_ROOT: root }
  await run('npx', ['vitest', 'run', '--project', 'upgrade'], { stdio: 'inherit', env, signal })
} finally {
  await remove()
}
