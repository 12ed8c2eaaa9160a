import { describe, expect, it } from 'vitest'
import { parseLinks } from './parse-links.ts'

describe('parseLinks', () => {
  it('reads destinations, codes and campaigns, and skips the heading and empty lines', () => {
    const text =
      'destination,code,campaign\r\nhttps://a.example/,one,"spring, early"\r\n\r\nhttps://b.example/'
    expect(parseLinks(text)).toEqual([
      { line: 2, link: { destination: 'https://a.example/', code: 'one', campaign: 'spring, early' } },
      { line: 4, link: { destination: 'https://b.example/' } },
    ])
  })

  it.each([
    ['ftp://a.example/', 'no http or https URL'],
    ['shop', 'no http or https URL'],
    ['https://a.example/,a b', 'code with other than letters, digits, - and _'],
  ])('reports %s', (text, problem) => {
    expect(parseLinks(text)).toMatchObject([{ problem }])
  })

  it('reads domains, each of which has codes of its own', () => {
    const rows = parseLinks(
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
    const rows = parseLinks(
      'https://a.example/,one\nhttps://b.example/,one\nhttps://c.example/\nhttps://d.example/',
    )
    expect(rows.map(({ problem }) => problem)).toEqual([
      undefined,
      'code is there twice',
      undefined,
      undefined,
    ])
  })
})
