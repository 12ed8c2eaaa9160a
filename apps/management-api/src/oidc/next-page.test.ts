import { describe, expect, it } from 'vitest'
import { nextPage } from './next-page.ts'

describe('nextPage', () => {
  it.each([
    ['/p/1/home', '/p/1/home'],
    ['/p/1/live?q=a%20b', '/p/1/live?q=a%20b'],
    ['/p/1/./x', '/p/1/x'],
    ['/p/1/x#fragment', '/p/1/x'],
    ['/p/a b', '/p/a%20b'],
  ])('keeps %j as %j', (next, kept) => expect(nextPage(next)).toBe(kept))

  it.each([
    undefined,
    null,
    '',
    '/',
    'https://evil.example/p/1',
    '//evil.example/p/1',
    '/\\evil.example',
    '/p/../../../evil',
    '/p/..',
    '/p/../..//evil.example',
    '/p/%2e%2e/%2e%2e//evil.example',
    '/p/\\..\\..\\..\\evil',
    'javascript:alert(1)',
    '/x/p/1',
    ' /p/1',
    '@evil.example/p/1',
  ])('refuses %j', (next) => expect(nextPage(next)).toBeUndefined())

  it('never contains a line break', () =>
    expect(nextPage('/p/a\r\nSet-Cookie: x=y')).toBe('/p/aSet-Cookie:%20x=y'))
})
