import { Readable } from 'node:stream'
import { createMemoryRateLimiter } from '@waymark/cache'
import { newLink } from '@waymark/contracts/http/links'
import { createPasswordQueue, type HttpRequest } from '@waymark/service-kit'
import { describe, expect, it } from 'vitest'
import { createLinkPasswords } from './link-passwords.ts'

const HOUR_MS = 60 * 60_000
const link = {
  id: '01900000-0000-7000-8000-00000000000a',
  projectId: 'p',
  code: 'sale',
  passwordHash: '$argon2id$one',
}

const requestOf = ({
  password = '',
  ip = '198.51.100.7',
  path = '/s/sale',
  cookie,
  type = 'application/x-www-form-urlencoded',
  proto = 'http',
}: Partial<Record<'password' | 'ip' | 'path' | 'cookie' | 'type' | 'proto', string>>): HttpRequest => {
  const form = Buffer.from(`${new URLSearchParams({ password })}`)
  const headers = {
    'content-type': type,
    'content-length': `${form.length}`,
    'x-forwarded-proto': proto,
    ...(cookie && { cookie }),
  }
  const body = Readable.from([form])
  const message = Object.assign(body, { headers, socket: { readable: true }, complete: true })
  return { ip, path, headers, message, byTrustedProxy: true } as unknown as HttpRequest
}

const setUp = ({ maxWaiting = 32 } = {}) => {
  let time = Date.parse('2026-03-01T12:00:00Z')
  const checked: string[] = []
  const inFlight: (() => void)[] = []
  let isHeld = false
  const passwords = createLinkPasswords({
    rateLimiter: createMemoryRateLimiter({ now: () => time }),
    clock: () => time,
    queue: createPasswordQueue(maxWaiting, maxWaiting),
    verify: async (password) => {
      checked.push(password)
      if (isHeld) await new Promise<void>((resolve) => inFlight.push(resolve))
      return password === 'open sesame'
    },
  })
  const answer = async (given: Parameters<typeof requestOf>[0], to = link) =>
    passwords.check(requestOf(given), to)
  return {
    passwords,
    checked,
    inFlight,
    answer,
    hold: (held = true) => {
      isHeld = held
    },
    pass: (ms: number) => {
      time += ms
    },
  }
}
const wrong = { status: 403, reason: 'wrong_password' }

describe('checking a password', () => {
  it('accepts the right one only', async () => {
    const { answer } = setUp()
    expect(await answer({ password: 'open sesame' })).toBeUndefined()
    expect(await answer({ password: 'open barley' })).toEqual(wrong)
  })

  it('does not hash an empty password, and none of more than 128 characters', async () => {
    const { answer, checked } = setUp()
    expect(await answer({})).toEqual(wrong)
    expect(await answer({ password: 'x'.repeat(129) })).toEqual(wrong)
    expect(checked).toEqual([])
    expect(await answer({ password: 'x'.repeat(128) })).toEqual(wrong)
    expect(checked).toHaveLength(1)
  })

  it('counts characters as the API does that sets the password', async () => {
    const { answer, checked } = setUp()
    const [longest, tooLong] = ['🦩'.repeat(128), '🦩'.repeat(129)]
    const isAccepted = (password: string) => newLink.fits({ destination: 'https://shop.example/', password })
    expect([isAccepted(longest), isAccepted(tooLong)]).toEqual([true, false])
    await answer({ password: longest })
    await answer({ password: tooLong })
    expect(checked).toEqual([longest])
  })

  it('refuses a body that is no form or larger than 4 KiB', async () => {
    const { answer, checked } = setUp()
    await expect(answer({ type: 'text/plain' })).rejects.toMatchObject({ code: 'unsupported_media_type' })
    await expect(answer({ password: 'x'.repeat(4 * 1024) })).rejects.toMatchObject({
      code: 'payload_too_large',
    })
    expect(checked).toEqual([])
  })

  it('allows 5 tries a minute for each link and address, whether right or wrong', async () => {
    const { answer, checked, pass } = setUp()
    for (let n = 0; n < 4; n++) expect(await answer({ password: 'wrong' })).toEqual(wrong)
    expect(await answer({ password: 'open sesame' })).toBeUndefined()
    expect(await answer({ password: 'open sesame' })).toEqual({ status: 429, retryAfter: 60 })
    expect(checked).toHaveLength(5)
    expect(await answer({ password: 'open sesame', ip: '198.51.100.8' })).toBeUndefined()
    expect(await answer({ password: 'open sesame' }, { ...link, id: 'another' })).toBeUndefined()
    pass(60_000)
    expect(await answer({ password: 'open sesame' })).toBeUndefined()
  })

  it('does not count a try that was refused because too many wait', async () => {
    const { answer, inFlight, hold, checked } = setUp({ maxWaiting: 1 })
    hold()
    const first = ['1', '2'].map((n) => answer({ password: 'open sesame', ip: `198.51.100.${n}` }))
    for (let n = 0; n < 7; n++)
      expect(await answer({ password: 'x', ip: '198.51.100.3' })).toEqual({ status: 503, retryAfter: 2 })
    for (let n = 0; n < 2; n++) {
      await expect.poll(() => inFlight.length).toBe(1)
      inFlight.shift()?.()
    }
    await Promise.all(first)
    hold(false)
    for (let n = 0; n < 5; n++) expect(await answer({ password: 'wrong', ip: '198.51.100.3' })).toEqual(wrong)
    expect(await answer({ password: 'wrong', ip: '198.51.100.3' })).toMatchObject({ status: 429 })
    expect(checked.filter((password) => password === 'wrong')).toHaveLength(5)
  })

  it('lets a visitor of another project be next, however many wrong tries wait', async () => {
    const { answer, checked, inFlight, hold } = setUp()
    hold()
    const wrongs = Array.from({ length: 20 }, (_, n) =>
      answer({ password: `wrong ${n}`, ip: `198.51.100.${n}` }),
    )
    await expect.poll(() => inFlight.length).toBe(1)
    const visitor = answer({ password: 'open sesame' }, { ...link, id: 'b', projectId: 'other' })
    for (let n = 0; n < 21; n++) {
      await expect.poll(() => inFlight.length).toBe(1)
      inFlight.shift()?.()
    }
    expect(await visitor).toBeUndefined()
    await Promise.all(wrongs)
    expect(checked.indexOf('open sesame')).toBeLessThan(4)
  })

  it('checks one at a time, and refuses those beyond the queue', async () => {
    const { answer, checked, inFlight, hold } = setUp({ maxWaiting: 2 })
    hold()
    const answers = ['1', '2', '3', '4'].map((n) =>
      answer({ password: 'open sesame', ip: `198.51.100.${n}` }),
    )
    expect(await Promise.race(answers)).toEqual({ status: 503, retryAfter: 2 })
    expect(checked).toHaveLength(1)
    for (let n = 0; n < 3; n++) {
      await expect.poll(() => inFlight.length).toBe(1)
      inFlight.shift()?.()
    }
    const results = await Promise.all(answers)
    expect(results.filter((result) => result === undefined)).toHaveLength(3)
  })
})

describe('remembering a right password', () => {
  const cookieOf = (set: string) => set.split(';', 1)[0] ?? ''

  it('lasts an hour for this link and password', () => {
    const { passwords, pass } = setUp()
    const cookie = cookieOf(passwords.cookieFor(requestOf({}), link))
    const remembers = (header: string, of = link) => passwords.isRemembered(requestOf({ cookie: header }), of)
    expect(remembers(cookie)).toBe(true)
    expect(remembers(`a=b; ${cookie}; c=d`)).toBe(true)
    expect(remembers(cookie, { ...link, id: 'another' })).toBe(false)
    expect(remembers(cookie, { ...link, passwordHash: '$argon2id$two' })).toBe(false)
    pass(HOUR_MS - 1)
    expect(remembers(cookie)).toBe(true)
    pass(1)
    expect(remembers(cookie)).toBe(false)
  })

  it.each([
    undefined,
    '',
    'wm_link=',
    'wm_link=99999999999',
    `wm_link=99999999999.${'A'.repeat(43)}`,
    `wm_link=99999999999.${'A'.repeat(44)}`,
    `wm_link=-1.${'A'.repeat(43)}`,
  ])('is not forged by %s', (cookie) => {
    const { passwords } = setUp()
    expect(passwords.isRemembered(requestOf(cookie === undefined ? {} : { cookie }), link)).toBe(false)
  })

  it('does not outlive a changed time of expiry', () => {
    const { passwords } = setUp()
    const [, , signature] = /=(\d+)\.([^;]+)/.exec(passwords.cookieFor(requestOf({}), link)) ?? []
    const cookie = `wm_link=99999999999.${signature}`
    expect(passwords.isRemembered(requestOf({ cookie }), link)).toBe(false)
  })

  it('is limited to the path of the link, and to HTTPS if that is used', () => {
    const { passwords } = setUp()
    const attributes = (given: Parameters<typeof requestOf>[0]) =>
      passwords.cookieFor(requestOf(given), link).replace(/^[^;]*; /, '')
    expect(attributes({})).toBe('Path=/s/sale; Max-Age=3600; HttpOnly; SameSite=Lax')
    expect(attributes({ path: '/sale', proto: 'https' })).toBe(
      'Path=/sale; Max-Age=3600; HttpOnly; SameSite=Lax; Secure',
    )
    expect(attributes({ path: '/S/sale/?x=%0d%0aSet-Cookie:a' })).toContain('Path=/s/sale;')
  })
})
