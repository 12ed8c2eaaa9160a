import { expect, it } from 'vitest'
import { Output, toCsv, toTable } from './output.ts'

const rows = [
  { name: 'one', count: 7, more: { a: 1 } },
  { name: 'a longer one', count: 1_200, more: null },
]

it('shows rows as columns, with numbers on the right', () => {
  expect(toTable(rows, ['name', 'count', 'more'])).toBe(
    ['name          count  more', 'one               7  {"a":1}', 'a longer one   1200', ''].join('\n'),
  )
  expect(toTable([], ['name'])).toBe('Nothing found.\n')
})

it('shows no control characters of others', () => {
  expect(toTable([{ name: 'red \u001b[31m\nnew line' }], ['name'])).toBe('name\nred  [31m new line\n')
})

it('writes CSV that a spreadsheet does not run', () => {
  expect(toCsv([{ a: '=1+1', b: 'say "hi", you', c: -1 }], ['a', 'b', 'c'])).toBe(
    'a,b,c\r\n\'=1+1,"say ""hi"", you",-1\r\n',
  )
})

it('prints the format that was asked for, and messages elsewhere', () => {
  const print = (format: 'text' | 'json' | 'csv') => {
    let [out, err] = ['', '']
    const output = new Output(format, { write: (text) => (out += text) }, { write: (text) => (err += text) })
    output.table({ rows }, rows, ['name'])
    output.note('a note')
    return [out, err]
  }
  expect(print('json')).toEqual([`${JSON.stringify({ rows }, null, 2)}\n`, 'a note\n'])
  expect(print('csv')).toEqual(['name\r\none\r\na longer one\r\n', 'a note\n'])
  expect(print('text')).toEqual(['name\none\na longer one\n', 'a note\n'])
})
