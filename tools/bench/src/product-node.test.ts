import { expect, it } from 'vitest'
import { refusalOfNode } from './product-node.ts'

it('refuses another Node.js than the one that npm installs for the product', () => {
  expect(refusalOfNode('24.21.0', '24.21.0')).toBeUndefined()
  expect(refusalOfNode('20.19.0', '24.21.0')).toBe(
    'The product runs on Node.js 24.21.0, and this is 20.19.0. Start the benchmark with npm run bench.\n',
  )
  expect(refusalOfNode('20.19.0')).toContain('this is 20.19.0')
})
