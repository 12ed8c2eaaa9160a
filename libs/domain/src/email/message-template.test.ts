import fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import {
  compileMessage,
  MAX_HTML_DEPTH,
  MAX_HTML_LENGTH,
  MAX_SUBJECT_LENGTH,
  type MessageContext,
  TemplateError,
} from './message-template.ts'
import { MAX_BLOCK_DEPTH, MAX_EXPRESSIONS, MAX_ROUNDS } from './template-engine.ts'

/** `npm run test:chaos` sets the variable. This package cannot import `extent`, because `@waymark/testing` imports it. */
const TEMPLATES = process.env.CHAOS === 'whole' ? 2_000 : 500

const context = (values: Partial<MessageContext> = {}): MessageContext => ({
  traits: {},
  event: {},
  profile: {},
  project: { name: 'Shop' },
  unsubscribeUrl: 'https://mail.example/u/token',
  ...values,
})
const render = async (html: string, values: Partial<MessageContext> = {}, subject = 's') =>
  (await compileMessage({ subject, html }))(context(values))
const problemOf = async (
  html: string,
  values: Partial<MessageContext> = {},
  subject = 's',
): Promise<string> => {
  const error = await render(html, values, subject).then(
    () => new Error('nothing was wrong'),
    (reason: Error) => reason,
  )
  expect(error).toBeInstanceOf(TemplateError)
  return `${(error as TemplateError).field}: ${error.message}`
}

describe('compileMessage', () => {
  it('fills in known variables and omits unknown ones', async () => {
    const { html, subject } = await render(
      '{{#if traits.name}}Dear {{traits.name}}{{else}}Hello{{/if}}{{nothing.there}}: ' +
        '{{#each event.properties.items}}{{@index}} {{this.name}} {{/each}}{{lookup traits "a b"}}',
      { traits: { name: 'Ann', 'a b': 7 }, event: { properties: { items: [{ name: 'x' }, { name: 'y' }] } } },
      '{{project.name}} & {{traits.name}}',
    )
    expect(html).toContain('Dear Ann: 0 x 1 y 7')
    expect(subject).toBe('Shop & Ann')
  })

  it('escapes every value in HTML', async () => {
    const run = await compileMessage({ subject: 's', html: '<b title="{{traits.x}}">{{traits.x}}</b>' })
    fc.assert(
      fc.property(fc.string({ unit: 'binary' }), (x) => {
        const { html } = run(context({ traits: { x } }))
        const found = /^<b title="([\s\S]*)">([\s\S]*)<\/b>\n<p>/.exec(html)
        expect(found).not.toBeNull()
        const [, attribute, inner] = found ?? []
        expect(attribute).toBe(inner)
        expect(inner).not.toMatch(/[<>"'`]/)
      }),
    )
  })

  it('keeps the subject on one line of limited length', async () => {
    const run = await compileMessage({ subject: 'Re: {{traits.x}}', html: 'h' })
    fc.assert(
      fc.property(fc.string({ unit: 'binary', maxLength: 2_000 }), (x) => {
        const { subject } = run(context({ traits: { x } }))
        expect(subject).not.toMatch(/[\p{Cc}\u2028\u2029]/u)
        expect(subject.length).toBeLessThanOrEqual(MAX_SUBJECT_LENGTH)
        expect(subject.isWellFormed()).toBe(true)
      }),
    )
    expect(run(context({ traits: { x: 'a\r\nBcc: everybody@example.com' } })).subject).toBe(
      'Re: a Bcc: everybody@example.com',
    )
  })

  it('reads own properties only', async () => {
    const traits = JSON.parse('{"__proto__":{"polluted":"yes"},"name":"Ann"}') as Record<string, unknown>
    const { html } = await render(
      '[{{traits.constructor.name}}{{constructor}}{{traits.toString}}{{lookup traits "constructor"}}' +
        '{{traits.name.length.constructor}}{{#with "s" as |t|}}{{t.sub.constructor}}{{/with}}]',
      { traits },
    )
    expect(html).toContain('[]')
  })

  it('adds an unsubscribe link where the template has none', async () => {
    const link = '<a href="https://mail.example/u/token">Unsubscribe</a>'
    expect((await render('<p>x</p>')).html).toBe(`<p>x</p>\n<p>${link}</p>`)
    expect((await render('<html><body>x</BODY></html>')).html).toBe(
      `<html><body>x<p>${link}</p></BODY></html>`,
    )
    const own = '<a href="{{unsubscribeUrl}}">Enough</a>'
    expect((await render(own)).html).toBe('<a href="https://mail.example/u/token">Enough</a>')
  })

  it('derives the text from the HTML', async () => {
    const { text } = await render(
      '<style>p{}</style><h1>Hi</h1><p>5 &lt; 6, see <a href="https://x.example/">here</a><img src="y"></p>',
    )
    expect(text).toContain('5 < 6, see here [https://x.example/]')
    expect(text).toContain('Unsubscribe [https://mail.example/u/token]')
    expect(text).not.toContain('p{}')
  })

  it('reports the problem and its line', async () => {
    expect(await problemOf('a\n{{#if x}}\n')).toMatch(/^html: line [23]: /)
    expect(await problemOf('a\nb\n{{x')).toMatch(/^html: line 3: does not parse/)
    expect(await problemOf('h', {}, '{{shout x}}')).toMatch(/^subject: line 1: .*shout/)
    expect(await problemOf('\n{{{x}}}')).toBe('html: line 2: unescaped output is not allowed')
    expect(await problemOf('{{&x}}')).toBe('html: line 1: unescaped output is not allowed')
    expect(await problemOf('{{> x}}')).toBe('html: line 1: partials are not supported')
    expect(await problemOf('{{#> x}}{{/x}}')).toBe('html: line 1: partials are not supported')
    expect(await problemOf('{{#*inline "x"}}{{/inline}}')).toBe('html: line 1: decorators are not supported')
    expect(await problemOf('{{log "x"}}')).toMatch(/unknown helper log/)
  })

  it('limits expressions and nesting', async () => {
    expect((await render('{{a}}'.repeat(MAX_EXPRESSIONS))).html).toBeTruthy()
    expect(await problemOf('{{a}}'.repeat(MAX_EXPRESSIONS + 1))).toMatch(/more than 500 expressions/)
    const nested = (depth: number) => '{{#if a}}'.repeat(depth) + '{{/if}}'.repeat(depth)
    expect((await render(nested(MAX_BLOCK_DEPTH))).html).toBeTruthy()
    expect(await problemOf(nested(MAX_BLOCK_DEPTH + 1))).toMatch(/more than 20 blocks/)
  })

  it('limits loops by iterations and output', async () => {
    const list = (length: number) => ({ traits: { l: Array.from({ length }, () => 1) } })
    const once = '{{#each traits.l}}{{/each}}'
    expect((await render(once, list(MAX_ROUNDS))).html).toBeTruthy()
    expect(await problemOf(once, list(MAX_ROUNDS + 1))).toMatch(/more than 10000 times/)
    const power = '{{#each @root.traits.l}}'.repeat(10) + '{{/each}}'.repeat(10)
    expect(await problemOf(power, list(100))).toMatch(/more than 10000 times/)
    expect(
      await problemOf('{{#traits.l}}{{#@root.traits.l}}{{/@root.traits.l}}{{/traits.l}}', list(200)),
    ).toMatch(/more than 10000 times/)
    const wide = `{{#each traits.l}}${'x'.repeat(50_000)}{{/each}}`
    expect(await problemOf(wide, list(5_000))).toMatch(/produce more than/)
    // The limit applies to one rendering, not to the template.
    const run = await compileMessage({ subject: 's', html: once })
    for (let n = 0; n < 3; n++) expect(run(context(list(MAX_ROUNDS))).html).toBeTruthy()
  })

  it('limits the size of the message', async () => {
    const link = '{{unsubscribeUrl}}'
    const url = context().unsubscribeUrl.length
    const filled = (length: number) => ({ traits: { x: 'x'.repeat(length) } })
    expect((await render(`{{traits.x}}${link}`, filled(MAX_HTML_LENGTH - url))).html).toHaveLength(
      MAX_HTML_LENGTH,
    )
    expect(await problemOf(`{{traits.x}}${link}`, filled(MAX_HTML_LENGTH - url + 1))).toMatch(/larger than/)
  })

  it('limits the nesting of elements, for which parsers take long', async () => {
    const deep = (rounds: number) => ({ traits: { l: Array.from({ length: rounds }, () => 1) } })
    const template = `{{unsubscribeUrl}}{{#each traits.l}}${'<b>'.repeat(100)}{{/each}}`
    expect((await render(template, deep(MAX_HTML_DEPTH / 100))).html).toBeTruthy()
    expect(await problemOf(`<i>${template}`, deep(MAX_HTML_DEPTH / 100))).toMatch(/elements nested deeper/)
  })

  it('renders or reports a problem for any template', async () => {
    const piece = fc.constantFrom(
      '{{',
      '}}',
      '#',
      '/',
      'each',
      'if',
      ' ',
      'traits',
      '.x',
      '\n',
      '"',
      '|',
      'as',
      '../',
      'this',
      '>',
      '@root',
      '{{else}}',
      '\\',
      '(',
    )
    await fc.assert(
      fc.asyncProperty(fc.array(piece, { maxLength: 40 }), async (pieces) => {
        const outcome = await render(pieces.join(''), { traits: { x: [1, { x: 2 }] } }).catch(
          (error: unknown) => error,
        )
        if (outcome instanceof Error) expect(outcome).toBeInstanceOf(TemplateError)
      }),
      { numRuns: TEMPLATES },
    )
  })
})
