import { describe, expect, it } from 'vitest'
import { htmlDepth } from './html-depth.ts'

describe('htmlDepth', () => {
  it('counts nested elements', () => {
    expect(htmlDepth('text')).toBe(0)
    expect(htmlDepth('<p>a</p><p>b</p>')).toBe(1)
    expect(htmlDepth('<DIV class="x"><p>a<br><img src="x">b</p></div><p></p>')).toBe(2)
    expect(htmlDepth('<div>'.repeat(100) + '</div>'.repeat(100))).toBe(100)
  })

  it('is an upper bound, also for missing or extra end tags', () => {
    expect(htmlDepth('<b></i>'.repeat(100))).toBe(100)
    expect(htmlDepth('<p>a'.repeat(100))).toBe(100)
    expect(htmlDepth(`${'</b>'.repeat(100)}<b>`)).toBe(1)
  })
})
