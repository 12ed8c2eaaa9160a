#!/usr/bin/env node
import { text } from 'node:stream/consumers'
import { runCli } from './cli.ts'

const interrupted = new AbortController()
for (const signal of ['SIGINT', 'SIGTERM'] as const) process.once(signal, () => interrupted.abort())
// A reader such as `head` may end before the command.
process.stdout.on('error', () => process.exit())

process.exitCode = await runCli(process.argv.slice(2), {
  env: process.env,
  cwd: process.cwd(),
  stdout: process.stdout,
  stderr: process.stderr,
  isTerminal: process.stdin.isTTY === true,
  readStdin: () => text(process.stdin),
  signal: interrupted.signal,
})
