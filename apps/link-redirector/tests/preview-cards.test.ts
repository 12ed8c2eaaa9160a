import { hashPassword } from '@waymark/domain/account'
import { eventually, services } from '@waymark/testing'
import { v7 as uuidv7 } from 'uuid'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import {
  addLink,
  BOT,
  createWorld,
  DESKTOP,
  type Redirector,
  startRedirector,
  startStoringClicks,
  type World,
} from './redirector.ts'

const og = { title: 'Autumn "sale"', description: '<b>Half</b> price', image: 'https://shop.example/i.png' }

describe.skipIf(!services)('the preview card of a link', () => {
  let world: World
  let redirector: Redirector
  let storing: { stop(): Promise<void> }

  beforeAll(async () => {
    world = await createWorld()
    redirector = await startRedirector(world)
    storing = await startStoringClicks(redirector.platform)
  })
  afterAll(async () => {
    await storing?.stop()
    await redirector?.stop()
    await world?.stop()
  })

  const visit = (path: string, agent: string, headers: object = {}) =>
    redirector.get(path, { headers: { 'User-Agent': agent, Accept: '*/*', ...headers } })

  it('is shown to link-preview bots, who are not counted, and others are redirected', async () => {
    const { id, code } = await addLink(world, { destination: 'https://shop.example/sale?a=1', og })
    for (const agent of ['WhatsApp/2.23.20.0', 'facebookexternalhit/1.1', 'TelegramBot (like TwitterBot)']) {
      const page = await visit(`/s/${code}`, agent)
      expect([page.status, page.headers.get('Cache-Control')]).toEqual([200, 'no-store'])
      const html = await page.text()
      expect(html).toContain('<meta property="og:title" content="Autumn &quot;sale&quot;">')
      expect(html).toContain('<meta property="og:description" content="&lt;b&gt;Half&lt;/b&gt; price">')
      expect(html).toMatch(new RegExp(`<link rel="canonical" href="http://localhost:\\d+/s/${code}">`))
      expect(html).toContain('href="https://shop.example/sale?a=1"')
      expect(html).not.toContain('wm_click')
    }
    for (const agent of [DESKTOP, BOT]) expect((await visit(`/s/${code}`, agent)).status).toBe(302)
    const counts = await eventually('the clicks are stored', async () => {
      const found = await world.db.prisma.linkCount.findUnique({ where: { linkId: id } })
      return found !== null && found.clicks + found.botClicks === 5n && found
    })
    expect(counts).toMatchObject({ clicks: 1n, botClicks: 4n })
  })

  it('names the short URL of its domain, whatever the request says', async () => {
    const domainId = uuidv7()
    const host = 'cards.example'
    await world.db.prisma.linkDomain.create({
      data: { id: domainId, projectId: world.projectId, host, token: 't', verifiedAt: new Date() },
    })
    const { code } = await addLink(world, { domainId, og: { title: 'Sale' } })
    const html = await eventually('the card is shown', async () => {
      const page = await visit(`/${code}`, 'Twitterbot/1.0', { 'X-Forwarded-Host': 'CARDS.example.:8443' })
      return page.status === 200 && page.text()
    })
    expect(html).toContain(`<meta property="og:url" content="https://${host}/${code}">`)
    const { code: other } = await addLink(world, { og: { title: 'Sale' } })
    const forged = await visit(`/s/${other}`, 'Twitterbot/1.0', {
      'X-Forwarded-Host': 'evil.example"><script>',
    })
    expect(await forged.text()).not.toContain('<script>')
  })

  it('does not show the destination of a link with a password, and ends with the link', async () => {
    const destination = 'https://secret.example/'
    const passwordHash = await hashPassword('open sesame')
    const locked = await addLink(world, { destination, passwordHash, og })
    const html = await (await visit(`/s/${locked.code}`, 'Twitterbot/1.0')).text()
    expect(html).toContain('og:title')
    expect(html).not.toContain('secret.example')
    const paused = await addLink(world, { og, status: 'paused' })
    expect((await visit(`/s/${paused.code}`, 'Twitterbot/1.0')).status).toBe(410)
  })
})
