import fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import { jsonOfForm, MAX_FORM_FIELDS } from './form-beacon.ts'

/** The JSON of a body as a browser sends it. */
const readOf = async (body: URLSearchParams | FormData | string, type?: string): Promise<unknown> => {
  const request = new Request('http://localhost', {
    method: 'POST',
    body,
    ...(type !== undefined && { headers: { 'Content-Type': type } }),
  })
  const bytes = Buffer.from(await request.arrayBuffer())
  return JSON.parse((await jsonOfForm(bytes, request.headers.get('content-type') ?? '')).toString())
}
const formOf = (fields: Record<string, string | Blob>): FormData => {
  const form = new FormData()
  for (const [name, value] of Object.entries(fields)) form.set(name, value)
  return form
}
const URLENCODED = 'application/x-www-form-urlencoded'

describe('jsonOfForm', () => {
  const event = { eventName: 'left & gone', properties: { total: 4900, url: 'https://a.example/?x=1' } }

  it.each(['data', 'payload', 'json', 'body'])(
    'reads the field %s as the body, with further fields',
    async (name) => {
      const fields = { [name]: JSON.stringify(event), apiKey: 'key' }
      expect(await readOf(new URLSearchParams(fields))).toEqual({ ...event, apiKey: 'key' })
      expect(await readOf(formOf(fields))).toEqual({ ...event, apiKey: 'key' })
      expect(await readOf(new URLSearchParams({ [name]: '{}', apiKey: 'key' }))).toEqual({ apiKey: 'key' })
    },
  )

  it('reads fields as members, and those that are JSON as such', async () => {
    const fields = {
      eventName: 'left',
      visitorId: 'v {1}',
      properties: '{"total":4900}',
      clickIds: '{broken',
    }
    const read = { eventName: 'left', visitorId: 'v {1}', properties: { total: 4900 }, clickIds: '{broken' }
    expect(await readOf(new URLSearchParams(fields))).toEqual(read)
    expect(await readOf(formOf(fields))).toEqual(read)
  })

  it('reads as many fields as are allowed, and refuses one more', async () => {
    const fields = (count: number) =>
      Object.fromEntries(Array.from({ length: count }, (_, n) => [`f${n}`, '1']))
    const most = fields(MAX_FORM_FIELDS)
    for (const body of [new URLSearchParams(most), formOf(most)]) expect(await readOf(body)).toEqual(most)
    const more = fields(MAX_FORM_FIELDS + 1)
    for (const body of [new URLSearchParams(more), formOf(more)])
      await expect(readOf(body)).rejects.toMatchObject({ code: 'payload_too_large' })
  })

  it('reads a file with JSON', async () => {
    const data = new Blob([JSON.stringify(event)], { type: 'application/json' })
    expect(await readOf(formOf({ data }))).toEqual(event)
  })

  it('reads JSON in spite of its type', async () => {
    expect(await readOf(` ${JSON.stringify(event)}`, URLENCODED)).toEqual(event)
  })

  it('lets members of the body win, and keeps the digits of numbers', async () => {
    const form = new URLSearchParams({ data: '{"apiKey":"inner"}', apiKey: 'outer' })
    expect(await readOf(form)).toEqual({ apiKey: 'inner' })
    const digits = Buffer.from('properties=%7B%22id%22%3A7211045500123456789%7D')
    expect((await jsonOfForm(digits, URLENCODED)).toString()).toContain('7211045500123456789')
  })

  it.each(['multipart/form-data', 'multipart/form-data; boundary=x'])(
    'refuses a broken form: %s',
    async (type) => {
      await expect(jsonOfForm(Buffer.from('nothing'), type)).rejects.toMatchObject({ code: 'bad_request' })
    },
  )

  it('reads any fields', async () => {
    const fields = fc.dictionary(fc.string({ unit: 'grapheme' }), fc.string({ unit: 'grapheme' }))
    await fc.assert(
      fc.asyncProperty(fields, async (sent) => {
        expect(typeof (await readOf(new URLSearchParams(sent)))).toBe('object')
      }),
    )
  })
})
