import { describe, expect, it } from 'vitest'
import { checkLink } from './link-values.ts'
import { shortUrlPrefix } from './link-view.ts'

const refusedFields = (prefix: string, destination: string): string[] => {
  const checked = checkLink(
    {
      destination,
      expiredUrl: destination,
      targets: [{ os: 'ios', destination }],
      variants: [{ key: 'a', destination, weight: 1 }],
    },
    prefix,
  )
  return 'errors' in checked ? checked.errors.map(({ field, message }) => `${field} ${message}`) : []
}
const EVERY_FIELD = ['destination', 'expiredUrl', 'variants.0.destination', 'targets.0.destination'].map(
  (field) => `${field} is a short link itself`,
)

describe('checkLink with a domain of its own', () => {
  const prefix = shortUrlPrefix('go.shop.example', 'https://waymark.example')

  it.each([
    'https://go.shop.example/sale',
    'http://go.shop.example/sale',
    'https://go.shop.example./sale',
    'http://GO.Shop.Example.:80/s/sale',
    'https://go.shop.example:8443/',
    'https://go.shop.example',
  ])('refuses %s', (destination) => expect(refusedFields(prefix, destination)).toEqual(EVERY_FIELD))

  it.each([
    'https://shop.example/go.shop.example/sale',
    'https://www.go.shop.example/sale',
    'https://go.shop.example.com/sale',
    'https://waymark.example/s/sale',
  ])('accepts %s', (destination) => expect(refusedFields(prefix, destination)).toEqual([]))
})

describe('checkLink with the domain of the installation', () => {
  const prefix = shortUrlPrefix(null, 'https://waymark.example')

  it.each([
    'https://waymark.example/s/sale',
    'http://waymark.example/s/sale',
    'https://Waymark.example./s/sale',
    'https://waymark.example/S/sale',
  ])('refuses %s', (destination) => expect(refusedFields(prefix, destination)).toEqual(EVERY_FIELD))

  it.each(['https://waymark.example/console/', 'https://waymark.example/sale'])('accepts %s', (destination) =>
    expect(refusedFields(prefix, destination)).toEqual([]),
  )

  it('accepts another port of the host when it has a port itself', () => {
    const local = shortUrlPrefix(null, 'http://localhost:8080')
    expect(refusedFields(local, 'http://localhost:3000/s/sale')).toEqual([])
    expect(refusedFields(local, 'https://localhost.:8080/s/sale')).toEqual(EVERY_FIELD)
  })
})
