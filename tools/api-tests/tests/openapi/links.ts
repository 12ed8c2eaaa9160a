import { randomUUID } from 'node:crypto'
import {
  createLinkDomain,
  deleteLinkDomain,
  getLinkDomain,
  listLinkDomains,
  updateLinkDomain,
  verifyLinkDomain,
} from '@waymark/contracts/http/link-domains'
import {
  archiveLink,
  createLink,
  createLinks,
  getLink,
  getLinkCampaignStats,
  getLinkQrCode,
  getLinkStats,
  listLinks,
  resolveLink,
  unlockLink,
  updateLink,
} from '@waymark/contracts/http/links'
import type { Operation } from '@waymark/contracts/http/operation'
import { eventually } from '@waymark/testing'
import { asOwner, type Example, stringIn } from './example.ts'
import type { Call, World } from './world.ts'

const aLink = () => ({ destination: 'https://shop.example/sale' })
/** A visitor whose clicks count. */
const browser = { 'User-Agent': 'Mozilla/5.0 (X11; Linux x86_64; rv:140.0) Gecko/20100101 Firefox/140.0' }

const newLink = async ({ call }: World, values: object = {}) => {
  const { body } = await call(createLink, { body: { ...aLink(), ...values } })
  return { id: stringIn(body, 'id'), code: stringIn(body, 'code') }
}
const onOne = async (world: World) => ({ params: { id: (await newLink(world)).id } })

const newHost = () => ({ host: `${randomUUID()}.example` })
const aDomain = async ({ call }: World) => {
  const { body } = await call(createLinkDomain, { body: newHost() })
  return { params: { id: stringIn(body, 'id') }, body }
}
const aVerifiedDomain = async (world: World) => {
  const { params, body } = await aDomain(world)
  const verification: unknown = Reflect.get(Object(body), 'verification')
  world.txtRecords.set(stringIn(verification, 'name'), stringIn(verification, 'value'))
  return { params }
}
const onDomain = async (world: World) => ({ params: (await aDomain(world)).params })

/** A call that was made as often as is allowed for a project of its own. */
const exhausted = async (world: World, operation: Operation, given: Call): Promise<Call> => {
  await world.countUses(500, () => world.call(operation, given))
  return given
}

const PASSWORD = 'open sesame'
const withPassword = async (world: World, password: string): Promise<Call> => ({
  params: { code: (await newLink(world, { password: PASSWORD })).code },
  key: null,
  body: `${new URLSearchParams({ password })}`,
  headers: { 'Content-Type': 'application/x-www-form-urlencoded' },
})

/** A link that is no longer active. */
const ended = async (world: World, status: 'paused' | 'archived', values: object = {}) => {
  const { id, code } = await newLink(world, values)
  await world.call(updateLink, { params: { id }, body: { status } })
  return { params: { code } }
}

export const linkExamples: Example[] = [
  {
    operation: resolveLink,
    good: async (world) => ({ params: { code: (await newLink(world)).code } }),
    others: {
      200: async (world) => ({
        params: { code: (await newLink(world, { og: { title: 'Sale' } })).code },
        headers: { 'User-Agent': 'WhatsApp/2.23.20.0' },
      }),
      403: {
        password_required: async (world) => {
          const { code } = await newLink(world, { password: PASSWORD })
          return { params: { code } }
        },
      },
      410: {
        paused: (world) => ended(world, 'paused'),
        archived: (world) => ended(world, 'archived'),
        expired: async (world) => {
          const { code } = await newLink(world, { expiresAt: '2020-01-01T00:00:00Z' })
          return { params: { code } }
        },
        click_limit_reached: async (world) => {
          const { code } = await newLink(world, { clickLimit: 1 })
          const click = { params: { code }, headers: browser }
          await eventually('the link is used up', async () => {
            const { status } = await world.call(resolveLink, click)
            return status === 410
          })
          return click
        },
      },
    },
  },
  {
    operation: unlockLink,
    good: (world) => withPassword(world, PASSWORD),
    others: {
      403: { wrong_password: (world) => withPassword(world, 'open barley') },
      404: async (world) => ({ ...(await withPassword(world, PASSWORD)), params: { code: 'unknown' } }),
      405: async (world) => ({
        ...(await withPassword(world, PASSWORD)),
        params: { code: (await newLink(world)).code },
      }),
      410: {
        paused: async (world) => ({
          ...(await withPassword(world, PASSWORD)),
          params: (await ended(world, 'paused', { password: PASSWORD })).params,
        }),
      },
      429: async (world) => {
        const call = await withPassword(world, 'open barley')
        for (let n = 1; n <= 5; n += 1) await world.call(unlockLink, call)
        return call
      },
    },
  },
  {
    operation: createLink,
    good: () => ({ body: aLink() }),
    others: {
      200: async (world) => {
        const externalId = randomUUID()
        await newLink(world, { externalId })
        return { body: { ...aLink(), externalId } }
      },
    },
  },
  { operation: createLinks, good: () => ({ body: { links: [aLink(), {}] } }) },
  { operation: listLinks, good: () => ({ query: { limit: '2', status: 'active' } }) },
  { operation: getLink, good: onOne },
  {
    operation: updateLink,
    good: async (world) => ({ ...(await onOne(world)), body: { campaign: 'autumn' } }),
  },
  { operation: archiveLink, good: onOne },
  {
    operation: getLinkQrCode,
    good: async (world) => ({ ...(await onOne(world)), query: { format: 'png' } }),
    others: { 422: async (world) => ({ ...(await onOne(world)), query: { size: '1' } }) },
  },
  {
    operation: getLinkStats,
    good: onOne,
    others: { 422: async (world) => ({ ...(await onOne(world)), query: { from: 'yesterday' } }) },
  },
  {
    operation: createLinkDomain,
    good: () => ({ body: newHost() }),
    others: {
      422: () => ({ body: { host: 'localhost' } }),
      429: async (world) => exhausted(world, createLinkDomain, await asOwner(world, { body: newHost() })),
    },
  },
  { operation: listLinkDomains, good: () => ({}) },
  { operation: getLinkDomain, good: onDomain },
  {
    operation: updateLinkDomain,
    good: async (world) => ({ ...(await onDomain(world)), body: { rootUrl: 'https://shop.example/' } }),
  },
  {
    operation: verifyLinkDomain,
    good: aVerifiedDomain,
    others: {
      422: onDomain,
      429: async (world) => {
        const owner = await asOwner(world)
        const { body } = await world.call(createLinkDomain, { ...owner, body: newHost() })
        return exhausted(world, verifyLinkDomain, {
          ...owner,
          params: { ...owner.params, id: stringIn(body, 'id') },
        })
      },
    },
  },
  { operation: deleteLinkDomain, good: onDomain },
  {
    operation: getLinkCampaignStats,
    good: () => ({ query: { from: '2026-01-01', to: '2026-01-31' } }),
    others: { 422: () => ({ query: { from: 'yesterday' } }) },
  },
]
