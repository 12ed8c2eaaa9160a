import { randomUUID } from 'node:crypto'
import { createJar, type Jar, services, startProvider, type TestProvider } from '@waymark/testing'
import { afterAll, beforeAll, beforeEach, describe, expect, it } from 'vitest'
import { SIGN_IN_MS } from '../src/oidc/pending-sign-in-queries.ts'
import { type OidcWorld, startOidcWorld } from './oidc-world.ts'

const MINUTE_MS = 60_000
const PROVED = { status: 303, location: '/console/proved' }
const refused = (reason: string) => ({ status: 303, location: `/console/proof-failed?failure=${reason}` })
const EXPIRED = { status: 303, location: '/console/sign-in?failure=expired' }

describe.skipIf(!services)('a user who signed in with a provider', () => {
  let world: OidcWorld
  let idp: TestProvider

  beforeAll(async () => {
    world = await startOidcWorld()
    idp = await startProvider()
  })
  afterAll(async () => {
    await idp?.stop()
    await world?.stop()
  })
  beforeEach(() => {
    world.state.aheadMs = 0
  })

  /** Someone whom a provider has made the owner of a project, and who proved long ago who they are. */
  const owner = async () => {
    const company = await world.owner()
    const domain = `${randomUUID()}.example`
    await world.verifyDomain(company, domain)
    const { projectId } = company
    const { id: providerId } = await world.addProvider(company, idp, [
      { projectId, group: null, role: 'owner' },
    ])
    const subject = randomUUID()
    idp.accounts.set(subject, { email: `grace@${domain}`, email_verified: true, name: 'Grace' })
    idp.signsIn = subject
    const jar = createJar()
    await world.signIn(jar, providerId)
    const { user } = await world.me(jar)
    await world.db.prisma.session.updateMany({
      where: { userId: user.id },
      data: { verifiedAt: new Date(Date.now() - 11 * MINUTE_MS) },
    })
    return { jar, projectId, providerId, domain, userId: user.id, company }
  }
  const begin = async (jar: Jar) =>
    (await world.json<{ url: string }>(world.call(jar, 'POST', '/api/auth/oidc/reauthenticate'))).url
  const archive = (jar: Jar, projectId: string) => world.statusOf(jar, 'DELETE', `/api/projects/${projectId}`)

  it('proves it there before what destroys, which counts for 10 minutes', async () => {
    const { jar, projectId, userId } = await owner()
    const asked = await world.call(jar, 'DELETE', `/api/projects/${projectId}`)
    expect([asked.status, await asked.json()]).toEqual([
      403,
      {
        error: expect.stringContaining('POST /api/auth/oidc/reauthenticate'),
        code: 'reauthentication_required',
        method: 'provider',
      },
    ])
    const url = await begin(jar)
    const { searchParams } = new URL(url)
    expect([searchParams.get('prompt'), searchParams.get('max_age')]).toEqual(['login', '0'])
    const pages = () => idp.requests.filter((path) => path.startsWith('GET /interaction/')).length
    const before = pages()
    expect(await world.finish(jar, await world.atProvider(jar, url))).toEqual(PROVED)
    expect(pages()).toBe(before + 1)
    const audit = await world.json<{ data: object[] }>(
      world.call(jar, 'GET', `/api/projects/${projectId}/audit-log?operation=reauthenticateWithProvider`),
    )
    expect(audit.data).toMatchObject([{ actor: { kind: 'user', id: userId } }])
    world.state.aheadMs = 10 * MINUTE_MS + 1_000
    expect(await archive(jar, projectId)).toBe(403)
    world.state.aheadMs = 10 * MINUTE_MS - 30_000
    expect(await archive(jar, projectId)).toBe(204)
  })

  it('has proved it at a sign-in only when the provider asked them then', async () => {
    const { jar, projectId, providerId } = await owner()
    world.state.aheadMs = 11 * MINUTE_MS
    // The provider still has its session, and asks for nothing.
    const pages = idp.requests.filter((path) => path.startsWith('GET /interaction/')).length
    await world.signIn(jar, providerId)
    expect(idp.requests.filter((path) => path.startsWith('GET /interaction/'))).toHaveLength(pages)
    expect(await archive(jar, projectId)).toBe(403)
    const fresh = createJar()
    world.state.aheadMs = 0
    await world.signIn(fresh, providerId)
    expect(await archive(fresh, projectId)).toBe(204)
  })

  it('has not proved it when the provider does not ask them again', async () => {
    const { jar, projectId } = await owner()
    world.state.aheadMs = 5 * MINUTE_MS
    const url = new URL(await begin(jar))
    url.searchParams.delete('prompt')
    url.searchParams.delete('max_age')
    expect(await world.finish(jar, await world.atProvider(jar, url.href))).toEqual(refused('not_asked_again'))
    world.state.aheadMs = 0
    expect(await archive(jar, projectId)).toBe(403)
  })

  it('has not proved it as another user of the provider, known or not', async () => {
    const { jar, projectId, domain, providerId } = await owner()
    const known = randomUUID()
    idp.accounts.set(known, { email: `linus@${domain}`, email_verified: true })
    idp.signsIn = known
    await world.signIn(createJar(), providerId)
    const unknown = randomUUID()
    idp.accounts.set(unknown, { email: `eve@${domain}`, email_verified: true })
    for (const subject of [known, unknown]) {
      idp.signsIn = subject
      jar.cookies(idp.issuer).clear()
      expect(await world.finish(jar, await world.atProvider(jar, await begin(jar)))).toEqual(
        refused('other_user'),
      )
    }
    expect(await archive(jar, projectId)).toBe(403)
    expect(await world.db.prisma.user.findUnique({ where: { email: `eve@${domain}` } })).toBeNull()
  })

  it('proves it once, in the browser and the session that began, and within 10 minutes', async () => {
    const { jar, projectId, providerId } = await owner()
    const callback = await world.atProvider(jar, await begin(jar))
    const cookie = jar.cookies(world.url).get('waymark_sign_in') ?? ''
    expect(await world.finish(createJar(), callback)).toEqual(EXPIRED)
    const thief = createJar()
    thief.cookies(world.url).set('waymark_sign_in', cookie)
    expect(await world.finish(thief, callback)).toEqual(refused('session_ended'))
    // The thief has used it up.
    expect(await world.finish(jar, callback)).toEqual(EXPIRED)
    const late = await world.atProvider(jar, await begin(jar))
    world.state.aheadMs = SIGN_IN_MS + 1_000
    expect(await world.finish(jar, late)).toEqual(EXPIRED)
    world.state.aheadMs = 0
    const moved = await world.atProvider(jar, await begin(jar))
    const session = jar.cookies(world.url).get('waymark_session') ?? ''
    const other = createJar()
    await world.signIn(other, providerId)
    jar.cookies(world.url).set('waymark_session', other.cookies(world.url).get('waymark_session') ?? '')
    expect(await world.finish(jar, moved)).toEqual(refused('session_ended'))
    jar.cookies(world.url).set('waymark_session', session)
    expect(await archive(jar, projectId)).toBe(403)
    const used = await world.atProvider(jar, await begin(jar))
    const usedCookie = jar.cookies(world.url).get('waymark_sign_in') ?? ''
    expect(await world.finish(jar, used)).toEqual(PROVED)
    jar.cookies(world.url).set('waymark_sign_in', usedCookie)
    expect(await world.finish(jar, used)).toEqual(EXPIRED)
  })

  it('needs a session that began with a provider, and its link', async () => {
    const { company, jar } = await owner()
    const path = '/api/auth/oidc/reauthenticate'
    expect(await world.statusOf(company.jar, 'POST', path)).toBe(422)
    expect(await world.statusOf(createJar(), 'POST', path)).toBe(401)
    // A token needs a recent sign-in.
    expect(await world.finish(jar, await world.atProvider(jar, await begin(jar)))).toEqual(PROVED)
    const { token } = await world.json<{ token: string }>(
      world.call(jar, 'POST', '/api/auth/access-tokens', {
        name: 'x',
        projectIds: null,
        expiresAt: new Date(Date.now() + 3_600_000).toISOString(),
      }),
    )
    const byToken = await fetch(`${world.url}${path}`, {
      method: 'POST',
      headers: { Authorization: `Bearer ${token}` },
    })
    expect(byToken.status).toBe(403)
  })

  it('can end its session there while it is proved', async () => {
    const { jar, userId } = await owner()
    const callback = await world.atProvider(jar, await begin(jar))
    await world.db.prisma.userIdentity.deleteMany({ where: { userId } })
    expect(await world.finish(jar, callback)).toEqual(EXPIRED)
    expect(await world.statusOf(jar, 'GET', '/api/auth/me')).toBe(401)
  })
})
