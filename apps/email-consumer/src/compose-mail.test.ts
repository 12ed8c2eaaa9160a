import { describe, expect, it } from 'vitest'
import { composeMail, deliveryOfMessageId } from './compose-mail.ts'

const ID = '01990000-0000-7000-8000-00000000000a'
const parts = {
  id: ID,
  from: 'Shop <hello@shop.example>',
  to: 'ann@example.com',
  message: { subject: 'Hi', html: '<p>Hi</p>', text: 'Hi' },
  unsubscribeUrl: 'https://mail.example/u/token',
}

describe('composeMail', () => {
  it('uses the same Message-ID for each attempt of a delivery, and finds the delivery by it', async () => {
    const messageIdOf = async () =>
      /^Message-ID: (.+)\r$/m.exec((await composeMail(parts)).raw.toString())?.[1]
    const messageId = await messageIdOf()
    expect(await messageIdOf()).toBe(messageId)
    expect(deliveryOfMessageId(messageId ?? '')).toBe(ID)
    expect(deliveryOfMessageId(`${ID}@shop.example`)).toBe(ID)
    for (const other of ['', 'x@shop.example', `<${ID}>`, `<${ID}@a>@b`])
      expect(deliveryOfMessageId(other)).toBeUndefined()
  })

  it('removes line breaks from all headers', async () => {
    const evil = 'x\r\nBcc: everybody@example.com'
    const { raw } = await composeMail({ ...parts, message: { ...parts.message, subject: evil } })
    expect(raw.toString()).not.toMatch(/^Bcc:/m)
    await expect(composeMail({ ...parts, from: `${evil} <hello@shop.example>` })).rejects.toThrow(
      'not an address',
    )
  })

  it('names domains in Punycode to mail servers, also when they are spelled with combining marks', async () => {
    const { envelope, raw } = await composeMail({
      ...parts,
      from: 'Shop <hello@m\u00fcller.example>',
      to: 'Ann@bu\u0308cher.example.',
    })
    expect(envelope).toEqual({ from: 'hello@xn--mller-kva.example', to: 'Ann@xn--bcher-kva.example' })
    expect(raw.toString()).toMatch(/^To: Ann@xn--bcher-kva\.example\r$/m)
  })

  it('has exactly one recipient for any headers', async () => {
    const { envelope } = await composeMail(parts)
    expect(envelope).toEqual({ from: 'hello@shop.example', to: 'ann@example.com' })
  })
})
