import type { HtmlToTextOptions } from 'html-to-text'

/** Compiles single templates, and turns HTML into text. */
type TemplateEngine = {
  /** `html`: whether values are escaped. @throws Error when the template does not parse or uses a forbidden feature */
  compile(template: string, options: { html: boolean }): (context: object) => string
  escape(text: string): string
  toText(html: string): string
}

/** Maximum expressions and blocks of a template, and the nesting of blocks. */
export const MAX_EXPRESSIONS = 500
export const MAX_BLOCK_DEPTH = 20
/** Maximum iterations of all loops of one rendering, and the characters that they produce. */
export const MAX_ROUNDS = 10_000
const MAX_LOOP_OUTPUT = 4 * 1024 * 1024

type HandlebarsModule = typeof import('handlebars')

/**
 * Handlebars without partials, decorators, unescaped output, and helpers other than `if`, `unless`, `each`, `with` and
 * `lookup`. Its libraries are loaded on first use, because most processes never send an email.
 */
export const createTemplateEngine = async (): Promise<TemplateEngine> => {
  const [{ default: handlebars }, { convert }] = await Promise.all([
    import('handlebars'),
    import('html-to-text'),
  ])
  const environment = handlebars.create()
  const loops = countLoops(environment)
  return {
    compile: (template, { html }) => {
      const options = { knownHelpersOnly: true, knownHelpers: { log: false }, noEscape: !html }
      const program = environment.parse(template)
      requireHarmless(handlebars, program)
      // `compile` would report errors only at the first rendering.
      environment.precompile(program, options)
      const render = environment.compile(program, options)
      return (context) => {
        loops.restart()
        return render(context, { allowProtoMethodsByDefault: false, allowProtoPropertiesByDefault: false })
      }
    },
    escape: handlebars.escapeExpression,
    toText: (html) => convert(html, TEXT_OPTIONS),
  }
}

const TEXT_OPTIONS: HtmlToTextOptions = {
  wordwrap: false,
  limits: { maxDepth: 100, maxChildNodes: 50_000 },
  selectors: [
    { selector: 'img', format: 'skip' },
    { selector: 'a', options: { hideLinkHrefIfSameAsText: true, noAnchorUrl: true } },
  ],
}

/** Limits loops, because nested ones over lists could run almost forever. */
const countLoops = (environment: HandlebarsModule): { restart(): void } => {
  let rounds = 0
  let produced = 0
  const each = environment.helpers.each as Handlebars.HelperDelegate
  environment.registerHelper(
    'each',
    function (this: unknown, items: unknown, options: Handlebars.HelperOptions) {
      const fn = (context: unknown, runtime?: Handlebars.RuntimeOptions): string => {
        rounds += 1
        if (rounds > MAX_ROUNDS) throw new Error(`loops run more than ${MAX_ROUNDS} times`)
        const text = options.fn(context, runtime)
        produced += text.length
        if (produced > MAX_LOOP_OUTPUT)
          throw new Error(`loops produce more than ${MAX_LOOP_OUTPUT} characters`)
        return text
      }
      return each.call(this, items, { ...options, fn })
    },
  )
  return {
    // Rendering is synchronous, so one counter is enough.
    restart: () => {
      rounds = 0
      produced = 0
    },
  }
}

type Located = { loc: hbs.AST.SourceLocation }

const requireHarmless = (handlebars: HandlebarsModule, program: hbs.AST.Program): void => {
  const refuse = ({ loc }: Located, what: string): never => {
    throw Object.assign(new Error(what), { lineNumber: loc.start.line })
  }
  let expressions = 0
  let depth = 0
  const count = (node: Located): void => {
    expressions += 1
    if (expressions > MAX_EXPRESSIONS) refuse(node, `has more than ${MAX_EXPRESSIONS} expressions`)
  }
  const { prototype } = handlebars.Visitor
  const visitor = Object.assign(new handlebars.Visitor(), {
    MustacheStatement: (node: hbs.AST.MustacheStatement) => {
      count(node)
      // The types of the parser omit this mark of `{{{…}}}` and `{{&…}}`.
      if ((node as { escaped?: boolean }).escaped === false) refuse(node, 'unescaped output is not allowed')
      prototype.MustacheStatement.call(visitor, node)
    },
    BlockStatement: (node: hbs.AST.BlockStatement) => {
      count(node)
      depth += 1
      if (depth > MAX_BLOCK_DEPTH) refuse(node, `has more than ${MAX_BLOCK_DEPTH} blocks within each other`)
      prototype.BlockStatement.call(visitor, node)
      depth -= 1
    },
    PartialStatement: (node: Located) => refuse(node, 'partials are not supported'),
    PartialBlockStatement: (node: Located) => refuse(node, 'partials are not supported'),
    Decorator: (node: Located) => refuse(node, 'decorators are not supported'),
    DecoratorBlock: (node: Located) => refuse(node, 'decorators are not supported'),
  })
  visitor.accept(program)
}
