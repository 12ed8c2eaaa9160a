import fc from 'fast-check'
import { copyOf, hostileText, hostileValue } from './hostile-values.ts'

/** A change at one place of a JSON value; `at` selects the place. */
export type Change = {
  at: number
  how: 'replace' | 'remove' | 'add' | 'repeat' | 'wrap'
  name: string
  value: unknown
}

/** Changes of a JSON value: none or some. */
export const changes: fc.Arbitrary<Change[]> = fc.array(
  fc.record({
    at: fc.nat(10_000),
    how: fc.oneof(
      { weight: 6, arbitrary: fc.constant('replace' as const) },
      { weight: 3, arbitrary: fc.constantFrom('remove' as const, 'add' as const) },
      { weight: 1, arbitrary: fc.constantFrom('repeat' as const, 'wrap' as const) },
    ),
    name: hostileText,
    value: hostileValue,
  }),
  { maxLength: 3 },
)

/** The changed value. */
export const changed = (value: unknown, changes: readonly Change[]): unknown => {
  const whole = { value: copyOf(value) }
  for (const change of changes) {
    const places = placesIn(whole)
    const place = places[change.at % places.length]
    if (place) changeAt(place, change)
  }
  return whole.value
}

type Place = { holder: object; name: string }

const placesIn = (holder: object): Place[] =>
  Object.entries(holder).flatMap(([name, member]) => [
    { holder, name },
    ...(typeof member === 'object' && member !== null ? placesIn(member) : []),
  ])

const set = (holder: object, name: string, value: unknown): void => {
  // Assigning to __proto__ would not create a member.
  Object.defineProperty(holder, name, { value, enumerable: true, configurable: true, writable: true })
}

const changeAt = ({ holder, name }: Place, { how, name: added, value: given }: Change): void => {
  const value = copyOf(given)
  const member: unknown = Reflect.get(holder, name)
  const isObject = typeof member === 'object' && member !== null
  if (how === 'remove' && !Array.isArray(holder)) Reflect.deleteProperty(holder, name)
  else if (how === 'add' && Array.isArray(member)) member.push(value)
  else if (how === 'add' && isObject) set(member, added, value)
  else if (how === 'repeat')
    set(
      holder,
      name,
      Array.from({ length: 3 }, () => copyOf(member)),
    )
  else if (how === 'wrap') set(holder, name, { [added]: member })
  else set(holder, name, value)
}
