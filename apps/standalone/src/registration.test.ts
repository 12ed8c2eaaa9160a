import { describe, expect, it } from 'vitest'
import { isLoopback, registrationModeOf } from './registration.ts'

describe('registration in a standalone', () => {
  it.each(['127.0.0.1', '127.8.9.10', '::1', '::ffff:127.0.0.1', 'localhost', 'LOCALHOST'])(
    'is open on %s',
    (host) => {
      expect(isLoopback(host)).toBe(true)
      expect(registrationModeOf('', host)).toBe('open')
    },
  )

  it.each(['', '0.0.0.0', '::', '192.0.2.1', '128.0.0.1', '::2', 'localhost.example', '127.0.0.1.example'])(
    'requires an invitation on "%s"',
    (host) => {
      expect(isLoopback(host)).toBe(false)
      expect(registrationModeOf('', host)).toBe('invite')
    },
  )

  it.each(['open', 'invite', 'closed'] as const)('is %s when configured', (mode) => {
    for (const host of ['127.0.0.1', '']) expect(registrationModeOf(mode, host)).toBe(mode)
  })
})
