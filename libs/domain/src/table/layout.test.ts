import { describe, expect, it } from 'vitest'
import { COUPON_COLUMNS, LINK_COLUMNS } from './columns.ts'
import { layoutOf, SAMPLE_LENGTH } from './layout.ts'
import { readTable } from './read-table.ts'

const codesIn = (text: string) => {
  const read = readTable(text, COUPON_COLUMNS)
  return 'problem' in read ? read.problem : read.rows.map(({ values }) => values.code)
}

describe('a table of codes', () => {
  it.each([
    ['a name with a space', 'Coupon code\nABC-1\nABC-2'],
    ['upper case', 'CODE\nABC-1\nABC-2'],
    ['an underscore, and semicolons', 'name;coupon_code\nx;ABC-1\nx;ABC-2'],
    ['tabs', 'Voucher Code\tValue\nABC-1\t10\nABC-2\t10'],
    ['bars', 'Promo-Code|Value\nABC-1|10\nABC-2|10'],
    ['quotes and a comma within', '"Discount code","Note"\n"ABC-1","a, b"\n"ABC-2","c; d"'],
    ['a BOM and Windows line ends', '\uFEFFcode\r\nABC-1\r\nABC-2\r\n'],
    ['the line ends of old Macs', 'code\rABC-1\rABC-2'],
    ['a German name', 'Gutscheincode;Wert\nABC-1;10,50\nABC-2;10,50'],
    ['a name with an accent', 'C\u00f3digo\nABC-1\nABC-2'],
    ['a decomposed accent', 'Co\u0301digo\nABC-1\nABC-2'],
    ['the line of Excel', 'sep=;\ncode;Value\nABC-1;1\nABC-2;2'],
    ['an exact name beside another', 'coupon,code\nSpring,ABC-1\nSpring,ABC-2'],
    ['a header that ends with a delimiter, as all lines', 'CODE;\nABC-1;\nABC-2;'],
    ['the number of a voucher', 'Voucher Number\nABC-1\nABC-2'],
    ['a plural', 'Coupon codes\nABC-1\nABC-2'],
    ['no header', 'ABC-1\nABC-2'],
    ['no header, and lines that end with a delimiter', 'ABC-1;\nABC-2;\n'],
  ])('is read with %s', (_, text) => {
    expect(codesIn(text)).toEqual(['ABC-1', 'ABC-2'])
  })

  it('keeps a first line that may be a code', () => {
    expect(codesIn('WELCOME\nABC-1')).toEqual(['WELCOME', 'ABC-1'])
    expect(codesIn('Welcome\nSpring20')).toEqual(['Welcome', 'Spring20'])
    expect(codesIn('Welcome')).toEqual(['Welcome'])
  })

  it('keeps a line with other characters whole when the others have one column', () => {
    expect(codesIn('ABC\nDEF\nGHI, for Ann')).toEqual(['ABC', 'DEF', 'GHI, for Ann'])
  })

  it.each([
    [
      'columns without a known name',
      'Kupon,Rabatt\nABC-1,10',
      'has 2 columns, separated by commas, and its first',
    ],
    ['codes in one line', 'ABC-1;ABC-2;ABC-3', 'has 3 columns, separated by semicolons'],
    ['tabs without a header', 'ABC-1\t10\nABC-2\t20', 'separated by tabs'],
    ['two names for the code', 'coupon;voucher\na;b', 'has several columns for "code": coupon, voucher'],
    ['columns that spaces separate', 'code   value\nABC-1    10', 'separated by spaces'],
    ['a comment above the header', '# of May\ncode\nABC-1', 'the header "code" below other lines'],
    ['a header of other words', 'Kupon\nABC-1\nABC-2', 'a first line "Kupon" that may be a header'],
    ['a header with a known word', 'Voucher ref.\nABC-1\nABC-2', 'a first line "Voucher ref."'],
    ['the exact name twice', 'code;code\na;b', 'has several columns for "code": code, code'],
  ])('is refused with %s', (_, text, problem) => {
    expect(codesIn(text)).toContain(problem)
  })

  it('reads the layout from whole lines of its beginning', () => {
    const text = `code;note\n${'ABC;x\n'.repeat(SAMPLE_LENGTH)}`
    expect(layoutOf(text, COUPON_COLUMNS)).toMatchObject({
      delimiter: ';',
      hasHeader: true,
      columns: ['code', undefined],
      headers: ['code', 'note'],
    })
    expect(layoutOf('x'.repeat(2 * SAMPLE_LENGTH), COUPON_COLUMNS)).toMatchObject({ columns: ['code'] })
    expect(layoutOf('', COUPON_COLUMNS)).toMatchObject({ hasHeader: false })
  })

  it('numbers lines as an editor does', () => {
    const read = readTable('sep=,\ncode,note\nABC,"two\nlines"\n\nDEF,x', COUPON_COLUMNS)
    expect('rows' in read && read.rows.map(({ line }) => line)).toEqual([4, 6])
  })
})

const fits = ([destination = '', code = '']: readonly string[]) =>
  /^https?:\/\//.test(destination) && /^[\w-]*$/.test(code)
const linksIn = (text: string) => {
  const read = readTable(text, { ...LINK_COLUMNS, fits })
  return 'problem' in read ? read.problem : read.rows.map(({ values }) => values)
}

describe('a table of links', () => {
  const link = { destination: 'https://a.example/', code: 'one', campaign: 'spring' }

  it.each([
    ['commas', 'https://a.example/,one,spring'],
    ['semicolons', 'https://a.example/;one;spring'],
    ['tabs', 'https://a.example/\tone\tspring'],
    ['a header', 'Long URL;Slug;utm_campaign\nhttps://a.example/;one;spring'],
    ['a header in another order', 'slug,campaign,note,url\none,spring,x,https://a.example/'],
  ])('is read with %s', (_, text) => {
    expect(linksIn(text)).toEqual([link])
  })

  it('keeps delimiters in addresses', () => {
    expect(linksIn('https://a.example/?a=1;b=2,one')).toEqual([
      { destination: 'https://a.example/?a=1;b=2', code: 'one' },
    ])
    expect(linksIn('https://a.example/,code')).toEqual([{ destination: 'https://a.example/', code: 'code' }])
  })

  it.each([
    ['a header without destinations', 'campaign;domain\nx;y', 'has no column for "destination"'],
    ['two delimiters', 'https://a.example/,x\nhttps://a.example/;x', 'by commas or by semicolons'],
    ['two destinations', 'url,link\na,b', 'has several columns for "destination": url, link'],
  ])('is refused with %s', (_, text, problem) => {
    expect(linksIn(text)).toContain(problem)
  })
})
