import { createRequire } from 'node:module'
import { expect, it } from 'vitest'
import {
  asEncoded,
  loadedKafkajs,
  patchRequestTimers,
  requirePatched,
  sendEncodedBatches,
} from './kafkajs-patches.ts'

const require = createRequire(import.meta.url)
type Request = (request: object) => { encode(): Promise<{ buffer: Buffer }> }
const versionOf = (version: number): Request =>
  require(`kafkajs/src/protocol/requests/produce/v${version}/request.js`)
patchRequestTimers()
sendEncodedBatches()

const right = { version: '2.2.4', copies: [], sendsBatches: true, hasPatchedTimers: true }
const batch = Buffer.from('a whole record batch')
const request = {
  acks: -1,
  timeout: 1_000,
  topicData: [{ topic: 't', partitions: [{ partition: 0, messages: [{ value: asEncoded(batch) }] }] }],
}

it('accepts the kafkajs of this version with its patches', () => {
  expect(loadedKafkajs()).toEqual(right)
  requirePatched(loadedKafkajs())
})

it.each([
  ['of another version', { version: '2.3.0' }, 'version 2.3.0; its patches are for 2.2.4'],
  [
    'that is loaded twice',
    { copies: ['/app/node_modules/x/node_modules/kafkajs/index.js'] },
    'more than once',
  ],
  ['that was loaded before its patches', { sendsBatches: false }, 'before it was patched'],
  ['without the patched timers', { hasPatchedTimers: false }, 'before it was patched'],
])('refuses a kafkajs %s', (_what, wrong, message) => {
  expect(() => requirePatched({ ...right, ...wrong })).toThrow(message)
})

it('notices a request that was loaded before the patch', () => {
  const path = require.resolve('kafkajs/src/protocol/requests/produce/v7/request.js')
  const loaded = require.cache[path]
  const patched = loaded?.exports
  if (loaded) loaded.exports = versionOf(2)
  expect(loadedKafkajs().sendsBatches).toBe(false)
  if (loaded) loaded.exports = patched
  expect(loadedKafkajs().sendsBatches).toBe(true)
})

it.each([3, 4, 5, 6, 7])('sends batches unchanged with version %d of the request', async (version) => {
  const { buffer } = await versionOf(version)(request).encode()
  expect(buffer.includes(batch)).toBe(true)
})

it.each([0, 1, 2])('sends nothing with version %d, whose encoder is not patched', async (version) => {
  const old = versionOf(version)
  await expect(async () => old(request).encode()).rejects.toThrow('store a whole batch as one record')
})
