import { hashPassword } from '@waymark/domain/account'
import { eventually, services } from '@waymark/testing'
import { v7 as uuidv7 } from 'uuid'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { addLink, changeLink, DESKTOP, type Redirector, startRedirectors, type World } from './redirector.ts'

const DESTINATION = 'https://secret.example/offer'
const PASSWORD = 'open sesame'
const BROWSER = {
  Accept: 'text/html,application/xhtml+xml,*/*;q=0.8',
  'User-Agent': DESKTOP,
}
const BOT = { ...BROWSER, 'User-Agent': 'facebookexternalhit/1.1' }

describe.skipIf(!services)('a link with a password', () => {
  let world: World
  let here: Redirector
  let there: Redirector
  let stop: () => Promise<void>
  let passwordHash = ''
  let clients = 0

  beforeAll(async () => {
    passwordHash = await hashPassword(PASSWORD)
    ;({ world, here, there, stop } = await startRedirectors())
  })
  afterAll(() => stop?.())

  const lockedLink = (values: object = {}) =>
    addLink(world, { destination: DESTINATION, passwordHash, ...values })
  /** Headers of a client that has not tried a password yet. */
  const newClient = () => ({ ...BROWSER, 'X-Forwarded-For': `203.0.113.${++clients}` })
  const answer = (path: string, password: string, headers: object = newClient(), at = here) =>
    at.get(path, { method: 'POST', headers: { ...headers }, body: new URLSearchParams({ password }) })
  const countsOf = (linkId: string) => world.db.prisma.linkCount.findUnique({ where: { linkId } })
  /** Fails when an answer names the destination. */
  const expectHidden = async (response: Response): Promise<string> => {
    const text = await response.text()
    expect(JSON.stringify([...response.headers]) + text).not.toContain('secret.example')
    return text
  }

  it('shows a page without scripts to browsers, and JSON to programs, but not the destination', async () => {
    const { code } = await lockedLink()
    const page = await here.get(`/s/${code}`, { headers: BROWSER })
    expect(page.status).toBe(403)
    expect(Object.fromEntries(page.headers)).toMatchObject({
      'cache-control': 'no-store',
      'content-type': 'text/html; charset=utf-8',
      'referrer-policy': 'no-referrer',
      'x-robots-tag': 'noindex',
    })
    expect(page.headers.get('Content-Security-Policy')).toMatch(
      /^default-src 'none'; style-src 'sha256-[A-Za-z0-9+/]{43}='; base-uri 'none'; frame-ancestors 'none'$/,
    )
    const text = await expectHidden(page)
    expect(text).toContain('<form method="post">')
    expect(text).not.toContain('<script')

    const json = await here.get(`/s/${code}`, { headers: { Accept: 'application/json' } })
    expect(json.status).toBe(403)
    expect(JSON.parse(await expectHidden(json))).toEqual({
      error: 'This link needs a password',
      reason: 'password_required',
    })
  })

  it('does not show the destination to HEAD, bots and prefetches', async () => {
    const { code } = await lockedLink()
    for (const init of [
      { method: 'HEAD', headers: BROWSER },
      { headers: BOT },
      { headers: { ...BROWSER, 'Sec-Purpose': 'prefetch' } },
    ]) {
      const response = await here.get(`/s/${code}`, init)
      expect(response.status).toBe(403)
      await expectHidden(response)
    }
  })

  it('redirects after the right password, counts one click, and remembers it for this link', async () => {
    const { id, code } = await lockedLink({ forwardQuery: true })
    const client = newClient()
    const wrong = await answer(`/s/${code}`, 'open barley', client)
    expect(wrong.status).toBe(403)
    expect(wrong.headers.has('Set-Cookie')).toBe(false)
    expect(await expectHidden(wrong)).toContain('<p id="problem" role="alert">The password is wrong.</p>')

    const right = await answer(`/s/${code}?utm_source=mail`, PASSWORD, client)
    expect(right.status).toBe(303)
    expect(right.headers.get('Cache-Control')).toBe('no-store')
    const location = new URL(right.headers.get('Location') ?? '')
    expect(location.href.split('?')[0]).toBe(DESTINATION)
    expect(location.searchParams.get('utm_source')).toBe('mail')
    await eventually('the click is stored', async () => (await countsOf(id))?.clicks === 1n)

    const cookie = right.headers.get('Set-Cookie')?.split(';', 1)[0] ?? ''
    const again = await there.get(`/s/${code}`, { headers: { ...client, Cookie: cookie } })
    expect(again.status).toBe(302)
    const other = await lockedLink()
    expect((await here.get(`/s/${other.code}`, { headers: { ...client, Cookie: cookie } })).status).toBe(403)

    await changeLink(world, id, `password_hash = '${await hashPassword(PASSWORD)}'`)
    await eventually('the new password is needed', async () => {
      const { status } = await here.get(`/s/${code}`, { headers: { ...client, Cookie: cookie } })
      return status === 403
    })
    await changeLink(world, id, 'password_hash = NULL')
    await eventually('no password is needed', async () => {
      const { status } = await here.get(`/s/${code}`, { headers: client })
      return status === 302
    })
  })

  it('allows 5 tries a minute in all processes together', async () => {
    const { code } = await lockedLink()
    const client = newClient()
    for (let n = 0; n < 5; n++) {
      const { status } = await answer(`/s/${code}`, 'wrong', client, n % 2 === 0 ? here : there)
      expect(status).toBe(403)
    }
    for (const redirector of [here, there]) {
      const refused = await answer(`/s/${code}`, PASSWORD, client, redirector)
      expect(refused.status).toBe(429)
      expect(Number(refused.headers.get('Retry-After'))).toBeGreaterThan(0)
      expect(Number(refused.headers.get('Retry-After'))).toBeLessThanOrEqual(60)
      expect(await expectHidden(refused)).toContain('Too many tries')
    }
    expect((await answer(`/s/${code}`, PASSWORD)).status).toBe(303)
  })

  it('counts clicks towards the limit only once the password was right', async () => {
    const { code } = await lockedLink({ clickLimit: 1 })
    for (let n = 0; n < 3; n++)
      expect((await here.get(`/s/${code}`, { headers: newClient() })).status).toBe(403)
    expect((await answer(`/s/${code}`, PASSWORD)).status).toBe(303)
    expect((await here.get(`/s/${code}`, { headers: BROWSER })).status).toBe(410)
    expect((await answer(`/s/${code}`, PASSWORD)).status).toBe(410)
  })

  it('is unlocked on a domain of its own, and leads nowhere else for any input', async () => {
    const domainId = uuidv7()
    const host = 'locked.example'
    await world.db.prisma.linkDomain.create({
      data: { id: domainId, projectId: world.projectId, host, token: 't', verifiedAt: new Date() },
    })
    const { code } = await lockedLink({ domainId })
    const on = () => ({ ...newClient(), 'X-Forwarded-Host': host, 'X-Forwarded-Proto': 'https' })
    await eventually('the domain answers', async () => {
      const { status } = await here.get(`/${code}`, { headers: on() })
      return status === 403
    })
    for (const path of [`/${code}`, `/s/${code}`]) {
      const response = await answer(path, PASSWORD, on())
      expect(response.status).toBe(303)
      expect(response.headers.get('Set-Cookie')).toMatch(
        new RegExp(`^wm_link=\\S+; Path=${path}; Max-Age=3600; HttpOnly; SameSite=Lax; Secure$`),
      )
    }
    for (const query of [
      'url=https://evil.example/',
      'password=open+sesame',
      '%0d%0aLocation:https://evil.example/',
      'next=//evil.example',
    ]) {
      const response = await answer(`/${code}?${query}`, PASSWORD, on())
      expect(response.headers.get('Location')?.split('?')[0]).toBe(DESTINATION)
      const { status } = await here.get(`/${code}?${query}`, { headers: on() })
      expect(status).toBe(403)
    }
  })

  it('accepts no POST without a password, for an ended link, or with another body', async () => {
    const plain = await addLink(world)
    const refused = await answer(`/s/${plain.code}`, PASSWORD)
    expect([refused.status, refused.headers.get('Allow')]).toEqual([405, 'GET'])
    const paused = await lockedLink({ status: 'paused' })
    expect((await answer(`/s/${paused.code}`, PASSWORD)).status).toBe(410)
    expect((await answer('/s/unknown-code', PASSWORD)).status).toBe(404)
    const { code } = await lockedLink()
    const json = await here.get(`/s/${code}`, {
      method: 'POST',
      headers: { ...newClient(), 'Content-Type': 'application/json' },
      body: JSON.stringify({ password: PASSWORD }),
    })
    expect(json.status).toBe(415)
  })
})
