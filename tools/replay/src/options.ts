import { parseArgs } from 'node:util'

/** The options of the command line. */
export type Options = {
  /** Path of the log; `-` is standard input. */
  file: string
  url: string | undefined
  key: string | undefined
  site: string | undefined
  concurrency: number
  sync: boolean
}

export type Command =
  | { kind: 'replay'; options: Options }
  | { kind: 'help' }
  | { kind: 'usage'; error: string }

export const USAGE = `Usage: npm run replay -- <access.log[.gz]> [options]

Sends each line of a web server's access log (combined or common format, with or without
virtual host, gzip or not) to a running Waymark as a page_view. Sending the same file again
adds nothing, because each event's id comes from its line's number and content.

  <access.log[.gz]>    the log; - reads standard input
  --url <address>      address of the Waymark   (default: baseUrl of demo.json)
  --key <api key>      key with events:write    (default: apiKey of demo.json)
  --site <address>     site of the log's paths, such as https://example.com
                       (default: the line's virtual host, else http://localhost)
  --concurrency <n>    concurrent requests, 1 to 32 (default: 2)
  --sync               wait until each batch is stored (slower)
  --help               this text

demo.json is in $WAYMARK_DATA_DIR (default: .waymark). While the server is unavailable the replay
waits, and reads demo.json again in case the server has another address.

Exit code: 0 all events accepted, 1 some failed or the replay had to stop, 2 wrong usage,
130 interrupted. Lines in other formats are skipped and listed.
`

/** Reads the arguments after the script's name. */
export const parseCommand = (args: string[]): Command => {
  try {
    const { values, positionals } = parseArgs({
      args,
      allowPositionals: true,
      options: {
        url: { type: 'string' },
        key: { type: 'string' },
        site: { type: 'string' },
        concurrency: { type: 'string', default: '2' },
        sync: { type: 'boolean', default: false },
        help: { type: 'boolean', short: 'h', default: false },
      },
    })
    if (values.help) return { kind: 'help' }
    const [file, ...others] = positionals
    if (file === undefined) return usage('the path of a log is missing')
    if (others.length > 0) return usage(`only one log can be given; remove ${others.join(' ')}`)
    const concurrency = Number(values.concurrency)
    if (!Number.isInteger(concurrency) || concurrency < 1 || concurrency > 32) {
      return usage(`--concurrency must be an integer from 1 to 32; got ${values.concurrency}`)
    }
    for (const name of ['url', 'site'] as const) {
      const value = values[name]
      if (value !== undefined && !isHttpUrl(value)) {
        return usage(`--${name} must be an address such as https://example.com; got ${value}`)
      }
    }
    if (values.key !== undefined && !/^[!-~]+$/.test(values.key)) return usage('--key is not an API key')
    const site = values.site?.replace(/[?#].*$/, '').replace(/\/+$/, '')
    const { url, key, sync } = values
    return { kind: 'replay', options: { file, url, key, site, concurrency, sync } }
  } catch (error) {
    // The first sentence of parseArgs names the error; the rest is advice.
    return usage(error instanceof Error ? (error.message.split('. ')[0] ?? error.message) : String(error))
  }
}

const usage = (error: string): Command => ({ kind: 'usage', error })

const isHttpUrl = (text: string): boolean =>
  ['http:', 'https:'].includes(URL.parse(text)?.protocol ?? '') && /^https?:\/\//i.test(text)
