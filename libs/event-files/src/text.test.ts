import { describe, expect, it } from 'vitest'
import { type EventColumns, withBom, writeCsv, writeJsonLines } from './index.ts'

type Row = { text: string | null; json: unknown }
const COLUMNS: EventColumns<Row> = { text: 'text', json: 'json' }

async function* portions(): AsyncGenerator<Row[]> {
  yield [{ text: '=a,"b"', json: { a: [1] } }]
  yield []
  yield [{ text: null, json: null }]
}
const textOf = async (pieces: AsyncIterable<string>): Promise<string> =>
  (await Array.fromAsync(pieces)).join('')

describe('text files', () => {
  it('are CSV with a header and without formulas', async () => {
    expect(await textOf(writeCsv(COLUMNS, portions()))).toBe(
      `text,json\r\n"'=a,""b""","{""a"":[1]}"\r\n,\r\n`,
    )
  })

  it.each(['=', '+', '-', '@', '＝', '＋', '－', '＠', '\t', '\r', '\n'])(
    'have an apostrophe before a text that begins with %j',
    async (first) => {
      const rows = (async function* () {
        yield [{ text: `${first}1`, json: null }]
      })()
      expect(await textOf(writeCsv(COLUMNS, rows))).toMatch(/^text,json\r\n"?'/)
    },
  )

  it('begin with a byte order mark', async () => {
    expect(await textOf(withBom(writeCsv(COLUMNS, portions())))).toMatch(/^\uFEFFtext,json\r\n/)
  })

  it('are JSON lines', async () => {
    expect(await textOf(writeJsonLines(portions()))).toBe(
      '{"text":"=a,\\"b\\"","json":{"a":[1]}}\n{"text":null,"json":null}\n',
    )
  })
})
