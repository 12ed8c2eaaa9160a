import { randomUUID } from 'node:crypto'
import type { LinkDomainView } from '@waymark/contracts/http/link-domains'
import type { LinkView } from '@waymark/contracts/http/links'
import { generateCode } from '@waymark/domain/link'
import { extent, services } from '@waymark/testing'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { type Browser, type Management, startManagement } from './start-management.ts'

type Owner = Browser & { projectId: string }
type Problem = { errors?: { field: string; rule: string }[] }

describe.skipIf(!services)('the link domains of a project', () => {
  const records = new Map<string, string[]>()
  const dns = { isAway: false }
  let management: Management
  let ours: Owner
  let theirs: Owner

  beforeAll(async () => {
    management = await startManagement({
      shortLinkBaseUrl: 'https://links.waymark.example',
      oidc: {
        allowPrivateAddresses: false,
        resolveTxt: async (name) => {
          if (dns.isAway) throw Object.assign(new Error('timeout'), { code: 'ETIMEOUT' })
          const values = records.get(name)
          if (!values) throw Object.assign(new Error('not found'), { code: 'ENOTFOUND' })
          return values.map((value) => [value])
        },
      },
    })
    const owner = async (): Promise<Owner> => {
      const browser = await management.register()
      return Object.assign(browser, { projectId: browser.account.projects[0]?.id ?? '' })
    }
    ours = await owner()
    theirs = await owner()
  })
  afterAll(() => management?.stop())

  const send = async <T>(
    owner: Owner,
    method: string,
    path: string,
    body?: unknown,
  ): Promise<{ status: number; body: T & Problem }> => {
    const response = await owner.request(method, `/api/projects/${owner.projectId}/${path}`, body)
    const text = await response.text()
    return { status: response.status, body: (text === '' ? {} : JSON.parse(text)) as T & Problem }
  }
  const domains = (owner: Owner, method: string, path = '', body?: unknown) =>
    send<LinkDomainView>(owner, method, `link-domains${path}`, body)
  const add = async (owner: Owner, host: string, values: object = {}): Promise<LinkDomainView> => {
    const { status, body } = await domains(owner, 'POST', '', { host, ...values })
    expect(status).toBe(201)
    return body
  }
  const publish = ({ verification: { name, value } }: LinkDomainView): void => {
    records.set(name, [...(records.get(name) ?? []), value])
  }
  const verify = (owner: Owner, { id }: LinkDomainView) => domains(owner, 'POST', `/${id}/verify`)
  const addVerified = async (owner: Owner, host = `${randomUUID()}.example`): Promise<LinkDomainView> => {
    const domain = await add(owner, host)
    publish(domain)
    expect((await verify(owner, domain)).status).toBe(200)
    return domain
  }
  const problemOf = ({ body }: { body: Problem }) => body.errors?.map(({ field, rule }) => `${field} ${rule}`)
  const createLink = (owner: Owner, values: object) =>
    send<LinkView>(owner, 'POST', 'links', { destination: 'https://shop.example/sale', ...values })

  it('are verified by the record that the answer names', async () => {
    const domain = await add(ours, 'GO.Shop.Example.', { rootUrl: 'https://shop.example' })
    expect(domain).toMatchObject({
      host: 'go.shop.example',
      rootUrl: 'https://shop.example/',
      notFoundUrl: null,
      verification: { type: 'TXT', name: '_waymark.go.shop.example' },
      verifiedAt: null,
    })
    const early = await verify(ours, domain)
    expect([early.status, problemOf(early)]).toEqual([422, ['host dns']])
    records.set(domain.verification.name, ['waymark-domain=another'])
    expect((await verify(ours, domain)).status).toBe(422)
    publish(domain)
    expect((await verify(ours, domain)).body.verifiedAt).not.toBeNull()
    expect((await domains(ours, 'GET', `/${domain.id}`)).body.verifiedAt).not.toBeNull()
  })

  it('lose the verification when a check finds no record, and keep it while DNS does not answer', async () => {
    const domain = await addVerified(ours)
    const audited = async () => {
      const { body } = await send<{ data: { operation: string; actor: object }[] }>(
        ours,
        'GET',
        `audit-log?resourceId=${domain.id}`,
      )
      return body.data
    }
    dns.isAway = true
    expect((await verify(ours, domain)).status).toBe(422)
    dns.isAway = false
    expect((await domains(ours, 'GET', `/${domain.id}`)).body.verifiedAt).not.toBeNull()
    expect((await audited()).map(({ operation }) => operation)).toEqual([
      'verifyLinkDomain',
      'createLinkDomain',
    ])
    records.delete(domain.verification.name)
    // The second check finds it unverified, and changes nothing.
    for (let check = 0; check < 2; check += 1) expect((await verify(ours, domain)).status).toBe(422)
    expect((await domains(ours, 'GET', `/${domain.id}`)).body.verifiedAt).toBeNull()
    const [removal, ...earlier] = await audited()
    expect(removal).toMatchObject({ operation: 'unverifyLinkDomain', actor: { kind: 'user' } })
    expect(earlier).toHaveLength(2)
  })

  it('are refused with a host that is none, taken or of this installation, and with unusable addresses', async () => {
    const { host } = await add(ours, `${randomUUID()}.example`)
    const refused = async (body: object) => {
      const answer = await domains(ours, 'POST', '', body)
      expect(answer.status).toBe(422)
      return problemOf(answer)
    }
    expect(await refused({ host: 'shop.example:8080' })).toEqual(['host format'])
    expect(await refused({ host: 'Links.Waymark.example.' })).toEqual(['host reserved'])
    expect(await refused({ host: host.toUpperCase() })).toEqual(['host unique'])
    const own = {
      host: 'fresh.example',
      rootUrl: 'javascript:alert(1)',
      expiredUrl: 'https://Fresh.example./x',
    }
    expect(await refused(own)).toEqual(['rootUrl destination', 'expiredUrl destination'])
  })

  it('cannot be seen, changed, verified or used by another project', async () => {
    const domain = await addVerified(ours)
    for (const [method, path, body] of [
      ['GET', `/${domain.id}`, undefined],
      ['PATCH', `/${domain.id}`, { rootUrl: 'https://evil.example/' }],
      ['POST', `/${domain.id}/verify`, undefined],
      ['DELETE', `/${domain.id}`, undefined],
    ] as const)
      expect((await domains(theirs, method, path, body)).status).toBe(404)
    expect(JSON.stringify((await domains(theirs, 'GET')).body)).not.toContain(domain.id)
    expect(problemOf(await createLink(theirs, { domainId: domain.id }))).toEqual(['domainId exists'])
    expect(problemOf(await createLink(theirs, { domain: domain.host }))).toEqual(['domain exists'])
  })

  it('cannot be claimed by another project while verified, under any spelling', async () => {
    const domain = await addVerified(ours)
    for (const host of [domain.host, domain.host.toUpperCase(), `${domain.host}.`]) {
      const refused = await domains(theirs, 'POST', '', { host })
      expect([refused.status, problemOf(refused)]).toEqual([422, ['host unique']])
    }
    dns.isAway = true
    expect((await domains(theirs, 'POST', '', { host: domain.host })).status).toBe(422)
    dns.isAway = false
  })

  it('go to the first project that verifies, and to another only when the record is replaced', async () => {
    const host = `${randomUUID()}.example`
    const [first, second] = [await add(ours, host), await add(theirs, host)]
    expect(second.verification.value).not.toBe(first.verification.value)
    publish(first)
    publish(second)
    const answers = await Promise.all([verify(ours, first), verify(theirs, second)])
    expect(answers.map(({ status }) => status).sort()).toEqual([200, 422])

    const [winner, loser] = answers[0].status === 200 ? [ours, theirs] : [theirs, ours]
    const [won, lost] = winner === ours ? [first, second] : [second, first]
    expect(problemOf(await verify(loser, lost))).toEqual(['host unique'])
    records.set(lost.verification.name, [lost.verification.value])
    expect((await verify(loser, lost)).status).toBe(200)
    expect((await domains(winner, 'GET', `/${won.id}`)).body.verifiedAt).toBeNull()
    const { body: audit } = await send<{ data: { operation: string; actor: object }[] }>(
      winner,
      'GET',
      `audit-log?resourceId=${won.id}`,
    )
    expect(audit.data[0]).toMatchObject({
      operation: 'unverifyLinkDomain',
      actor: { kind: 'system', id: '00000000-0000-0000-0000-000000000000', name: null },
      network: null,
      requestId: null,
    })
  })

  it('change their addresses, and are removed and added again with their links', async () => {
    const domain = await addVerified(ours)
    const changed = await domains(ours, 'PATCH', `/${domain.id}`, { notFoundUrl: 'https://shop.example/404' })
    expect(changed.body).toMatchObject({ notFoundUrl: 'https://shop.example/404', rootUrl: null })
    const { body: link } = await createLink(ours, { domain: domain.host, code: 'summer' })
    expect((await domains(ours, 'DELETE', `/${domain.id}`)).status).toBe(204)
    expect((await domains(ours, 'GET', `/${domain.id}`)).status).toBe(404)
    expect(problemOf(await createLink(ours, { domainId: domain.id }))).toEqual(['domainId exists'])
    const again = await add(ours, domain.host)
    expect(again).toMatchObject({ id: domain.id, notFoundUrl: null, verifiedAt: null })
    expect(again.verification.value).not.toBe(domain.verification.value)
    const { body: kept } = await send<LinkView>(ours, 'GET', `links/${link.id}`)
    expect(kept).toMatchObject({ domainId: domain.id, shortUrl: `https://${domain.host}/summer` })
  })

  it('have association files of at most 64 KiB', async () => {
    const fill = (bytes: number) => ({ a: 'x'.repeat(bytes - JSON.stringify({ a: '' }).length) })
    const most = fill(64 * 1024)
    const domain = await add(ours, `${randomUUID()}.example`, { appleAppSiteAssociation: most })
    expect(domain).toMatchObject({ appleAppSiteAssociation: most, assetLinks: null })
    const change = (body: object) => domains(ours, 'PATCH', `/${domain.id}`, body)
    const tooLarge = await change({ appleAppSiteAssociation: fill(64 * 1024 + 1) })
    expect([tooLarge.status, problemOf(tooLarge)]).toEqual([422, ['appleAppSiteAssociation maxBytes']])
    expect(
      (await change({ assetLinks: [{ relation: ['a'] }], appleAppSiteAssociation: null })).body,
    ).toMatchObject({
      appleAppSiteAssociation: null,
      assetLinks: [{ relation: ['a'] }],
    })
    expect((await change({ assetLinks: {} })).status).toBe(422)
  })

  it('have codes of their own', async () => {
    const [one, other] = [await addVerified(ours), await addVerified(ours)]
    const code = generateCode()
    const made = [
      await createLink(ours, { code }),
      await createLink(ours, { code, domainId: one.id }),
      await createLink(ours, { code, domain: other.host.toUpperCase() }),
    ]
    expect(made.map(({ status }) => status)).toEqual([201, 201, 201])
    expect(made.map(({ body }) => body.shortUrl)).toEqual([
      `https://links.waymark.example/s/${code}`,
      `https://${one.host}/${code}`,
      `https://${other.host}/${code}`,
    ])
    for (const values of [{}, { domainId: one.id }, { domain: other.host }])
      expect(problemOf(await createLink(ours, { code, ...values }))).toEqual(['code unique'])
    expect(problemOf(await createLink(ours, { domainId: one.id, domain: other.host }))).toEqual([
      'domainId exists',
    ])
    const looped = await createLink(ours, { domainId: one.id, destination: `https://${one.host}/${code}` })
    expect(problemOf(looped)).toEqual(['destination destination'])
    const { rowCount } = await management.db.pool.query(
      'UPDATE link.links SET destination = $1 WHERE id = $2',
      [`http://${other.host}/${code}`, made[2]?.body.id],
    )
    expect(rowCount).toBe(1)
    const change = (body: object) => send<LinkView>(ours, 'PATCH', `links/${made[2]?.body.id}`, body)
    expect(problemOf(await change({ campaign: 'autumn' }))).toEqual(['destination destination'])
    expect((await change({ status: 'archived' })).body).toMatchObject({ status: 'archived' })
    const { body: listed } = await send<{ data: LinkView[] }>(ours, 'GET', `links?domainId=${one.id}`)
    expect(listed.data.map(({ domain }) => domain)).toEqual([one.host])
    const { body: patched } = await send<LinkView>(ours, 'PATCH', `links/${made[1]?.body.id}`, {
      expiredUrl: 'https://shop.example/over',
    })
    expect(patched).toMatchObject({ domain: one.host, expiredUrl: 'https://shop.example/over' })
  })

  const domainCount = extent(10, 100)
  it(`hold 100 links on each of ${domainCount} domains, each code on its own domain`, async () => {
    const owner = theirs
    const added: LinkDomainView[] = []
    for (let n = 0; n < domainCount; n += 1)
      added.push(await addVerified(owner, `d${n}.${randomUUID()}.example`))
    for (let part = 0; part < 10; part += 1) {
      const links = added.flatMap(({ id, host }) =>
        Array.from({ length: 10 }, (_, n) => ({
          destination: `https://shop.example/${host}/${part * 10 + n}`,
          code: `code-${part * 10 + n}`,
          domainId: id,
        })),
      )
      const { body } = await send<{ created: number }>(owner, 'POST', 'links/bulk', { links })
      expect(body.created).toBe(links.length)
    }
    const { rows } = await management.db.pool.query<{ links: string; domains: string; wrong: string }>(
      `SELECT count(*) AS links, count(DISTINCT domain_id) AS domains,
         count(*) FILTER (WHERE split_part(destination, '/', 4) <> d.host) AS wrong
       FROM link.links l JOIN link.domains d ON d.id = l.domain_id WHERE l.project_id = $1`,
      [owner.projectId],
    )
    expect(rows).toEqual([{ links: `${100 * domainCount}`, domains: `${domainCount}`, wrong: '0' }])
  })

  it('are at most 200 in a project', async () => {
    const browser = await management.register()
    const owner = Object.assign(browser, { projectId: browser.account.projects[0]?.id ?? '' })
    await management.db.prisma.linkDomain.createMany({
      data: Array.from({ length: 199 }, (_, n) => ({
        id: randomUUID(),
        projectId: owner.projectId,
        host: `d${n}.example`,
        token: 't',
      })),
    })
    await add(owner, 'last.example')
    const refused = await domains(owner, 'POST', '', { host: 'more.example' })
    expect([refused.status, problemOf(refused)]).toEqual([422, [' quota']])
  })
})
