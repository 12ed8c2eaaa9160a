import { once } from 'node:events'
import { type AddressInfo, createServer } from 'node:net'
import { afterEach, expect, it, vi } from 'vitest'
import { migrate } from './migrate.ts'
import { isTransient } from './sql-errors.ts'

afterEach(() => void vi.useRealTimers())

it('fails when a hung server accepts the connection and does not answer', async () => {
  const server = createServer().listen(0, '127.0.0.1')
  await once(server, 'listening')
  vi.useFakeTimers({ toFake: ['setTimeout', 'clearTimeout'] })
  const connected = once(server, 'connection')
  const failed = migrate(`postgres://u:p@127.0.0.1:${(server.address() as AddressInfo).port}/d`).then(
    () => undefined,
    (error: unknown) => error,
  )
  const [connection] = await connected
  await vi.advanceTimersByTimeAsync(60_000)
  const error = await failed
  expect(error).toBeInstanceOf(Error)
  expect(isTransient(error)).toBe(true)
  connection.destroy()
  server.close()
})
