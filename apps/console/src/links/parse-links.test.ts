import { describe, expect, it } from 'vitest'
import { parseLinks } from './parse-links.ts'

const rowsIn = (text: string) => {
  const table = parseLinks(text)
  return 'rows' in table ? table.rows : table.problem
}

describe('parseLinks', () => {
  it('reads destinations, codes and campaigns, and skips the heading and empty lines', () => {
    const text =
      'destination,code,campaign\r\nhttps://a.example/,one,"spring, early"\r\n\r\nhttps://b.example/'
    expect(rowsIn(text)).toEqual([
      { line: 2, link: { destination: 'https://a.example/', code: 'one', campaign: 'spring, early' } },
      { line: 4, link: { destination: 'https://b.example/' } },
    ])
  })

  it.each([
    ['ftp://a.example/', 'no http or https URL'],
    ['shop', 'no http or https URL'],
    ['https://a.example/,a b', 'code with other than letters, digits, - and _'],
  ])('reports %s', (text, problem) => {
    expect(rowsIn(text)).toMatchObject([{ problem }])
  })

  it('reads domains, each of which has codes of its own', () => {
    const rows = rowsIn(
      'destination,code,campaign,domain\nhttps://a.example/,one,,go.shop.example\nhttps://a.example/,one\nhttps://a.example/,one,x,GO.shop.example',
    )
    expect(rows).toEqual([
      { line: 2, link: { destination: 'https://a.example/', code: 'one', domain: 'go.shop.example' } },
      { line: 3, link: { destination: 'https://a.example/', code: 'one' } },
      {
        line: 4,
        link: { destination: 'https://a.example/', code: 'one', campaign: 'x', domain: 'GO.shop.example' },
        problem: 'code is there twice',
      },
    ])
  })

  it('reports duplicate codes', () => {
    const rows = rowsIn(
      'https://a.example/,one\nhttps://b.example/,one\nhttps://c.example/\nhttps://d.example/',
    )
    expect(rows).toMatchObject([{}, { problem: 'code is there twice' }, {}, {}])
    expect(Array.isArray(rows) && rows.filter(({ problem }) => problem)).toHaveLength(1)
  })

  it('reads tables of spreadsheets, and says what their columns are taken for', () => {
    const link = { destination: 'https://a.example/', code: 'one', campaign: 'spring' }
    expect(rowsIn('https://a.example/;one;spring')).toMatchObject([{ link }])
    expect(
      parseLinks('Ziel-URL\tWert\tKurzcode\tKampagne\nhttps://a.example/\t1\tone\tspring'),
    ).toMatchObject({
      layout: { columns: ['destination', undefined, 'code', 'campaign'] },
      rows: [{ line: 2, link }],
    })
    expect(rowsIn('campaign;domain\nx;y')).toContain('has no column for "destination"')
  })
})
