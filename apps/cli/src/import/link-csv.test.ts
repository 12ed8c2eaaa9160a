import { describe, expect, it } from 'vitest'
import { readBitly } from './link-csv.ts'

describe('links of Bitly', () => {
  it.each([
    [
      'the console',
      'Link,Title,Custom Link,Destination URL,Created',
      'bit.ly/3abc,Sale,go.example/sale,https://a.example/,x',
    ],
    [
      'the API',
      'link,long_url,custom_bitlinks',
      'https://bit.ly/3abc,https://a.example/,"[""go.example/sale""]"',
    ],
    [
      'older exports',
      '\uFEFFLink,Long URL,Custom Bitlinks',
      'bit.ly/3abc,https://a.example/,go.example/sale',
    ],
  ])('are read from the columns of %s', (_, header, row) => {
    expect(readBitly(`${header}\n${row}\n`, {})).toEqual({
      items: [{ destination: 'https://a.example/', code: 'sale', externalId: 'bitly:go.example/sale' }],
      refused: [],
    })
  })

  it('keep their generated code without another one', () => {
    const csv = 'Link,Custom Link,Destination URL\nbit.ly/3abc,,https://a.example/\n'
    expect(readBitly(csv, {}).items).toMatchObject([{ code: '3abc', externalId: 'bitly:bit.ly/3abc' }])
  })
})
