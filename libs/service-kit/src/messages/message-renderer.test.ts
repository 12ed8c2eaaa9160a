import { type MessageContext, TemplateError } from '@waymark/domain/email'
import { runAsWork } from '@waymark/domain/fairness'
import { afterEach, describe, expect, it } from 'vitest'
import { createMessageRenderer, type MessageRenderer } from './message-renderer.ts'

const context = (traits: Record<string, unknown> = {}): MessageContext => ({
  traits,
  event: {},
  profile: {},
  project: { name: 'Shop' },
  unsubscribeUrl: 'https://mail.example/u/token',
})
/** Repeats the text of an array in nested loops: minutes of work within every limit of a template. */
const slow = {
  subject: 's',
  html: `{{#each traits.list}}${'{{../traits.nested}}'.repeat(490)}{{/each}}`,
}
const nested = Array.from({ length: 500 }).reduce<unknown[]>((inner) => [inner], [])
const slowContext = context({ list: Array.from({ length: 9_999 }, (_, index) => `${index}`), nested })

describe('a message renderer', () => {
  let renderer: MessageRenderer
  afterEach(() => renderer.close())

  it('renders messages and checks templates', async () => {
    renderer = createMessageRenderer()
    const templates = { subject: 'Hi {{traits.name}}', html: '<p>{{traits.name}}</p>' }
    await renderer.check('p', templates)
    const message = await renderer.render('p', templates, context({ name: 'A<b' }))
    expect(message).toMatchObject({ subject: 'Hi A<b', text: expect.stringContaining('A<b') })
    expect(message.html).toContain('<p>A&lt;b</p>')
  })

  it('reports the field and the line of an invalid template', async () => {
    renderer = createMessageRenderer()
    const failed = renderer.check('p', { subject: 's', html: '\n{{#if}' })
    await expect(failed).rejects.toThrow(TemplateError)
    await expect(failed).rejects.toMatchObject({ field: 'html', message: expect.stringContaining('line 2') })
  })

  it('ends tasks that take too long and continues, without delaying this thread or other projects', async () => {
    renderer = createMessageRenderer({ deadlineMs: 1_000 })
    const failed = renderer.render('slow', slow, slowContext).catch((error: Error) => error)
    const templates = { subject: 's', html: '{{traits.name}}' }
    const other = await renderer.render('other', templates, context({ name: 'Ann' }))
    expect(other.html).toContain('Ann')
    expect(await failed).toMatchObject({
      name: 'TemplateError',
      message: 'takes longer than 1000 ms to render',
    })
    const again = await renderer.render('slow', templates, context({ name: 'Ben' }))
    expect(again.html).toContain('Ben')
  })

  it('refuses requests of a tenant with too many waiting, and none of another tenant', async () => {
    renderer = createMessageRenderer()
    const check = (tenantId: string) =>
      runAsWork({ tenantId, projectId: 'p' }, () => renderer.check('p', { subject: 's', html: 'a' }))
    const many = Array.from({ length: 22 }, () => check('busy').catch((error: Error) => error))
    expect(await many[21]).toMatchObject({ code: 'rate_limited', details: { retryAfterSeconds: 1 } })
    await check('other')
    expect((await Promise.all(many)).filter((error) => error !== undefined)).toHaveLength(1)
  })

  it('can be closed when the results of two tasks arrive at once', async () => {
    renderer = createMessageRenderer()
    const first = renderer.check('p', { subject: 's', html: 'a' })
    const second = renderer.check('p', { subject: 's', html: 'b' }).catch((error: Error) => error)
    await first
    // The second task starts right after the first, before this thread does anything else.
    for (let turn = 0; turn < 10; turn++) await Promise.resolve()
    Atomics.wait(new Int32Array(new SharedArrayBuffer(4)), 0, 0, 200)
    await renderer.close()
    expect(await second).toMatchObject({ message: 'Terminating worker thread' })
  })
})
