import { describe, expect, it } from 'vitest'
import {
  configurationFields,
  configurationKinds,
  configurationResources,
  configurationView,
  notConfiguration,
} from './configuration.ts'
import { operations } from './http/operations.ts'

const changes = operations.filter(
  ({ access, method, readOnly }) => access.by === 'project' && method !== 'get' && !readOnly,
)

describe('the description of the configuration', () => {
  it('knows each operation that changes a project, as part of a resource or with a reason why not', () => {
    const used = configurationResources.flatMap(({ create, update, remove }) =>
      [create, update, remove].flatMap((operation) => operation?.id ?? []),
    )
    const known = [...used, ...Object.keys(notConfiguration)]
    expect(changes.map(({ id }) => id).filter((id) => !known.includes(id))).toEqual([])
    expect(known.filter((id) => !changes.some((operation) => operation.id === id))).toEqual([])
    expect(known).toHaveLength(new Set(known).size)
  })

  it('describes each kind once, after those that it refers to', () => {
    expect(configurationResources.map(({ kind }) => kind)).toEqual([...configurationKinds])
    for (const [index, { references = {} }] of configurationResources.entries())
      for (const kind of Object.values(references))
        expect(configurationKinds.indexOf(kind)).toBeLessThan(index)
  })

  describe.each(configurationResources.map((resource) => [resource.kind, resource] as const))(
    'of %s',
    (_, one) => {
      const fields = Object.keys(configurationFields(one))
      const shown = Object.keys(configurationView(one))

      it('covers each field that is read: it can be set, or is no configuration', () => {
        expect(shown.filter((field) => !fields.includes(field)).sort()).toEqual([...one.state].sort())
      })

      it('covers each field that can be set: it can be read as well', () => {
        expect(fields.filter((field) => !shown.includes(field))).toEqual([])
      })

      it('names fields that there are', () => {
        const named = [
          ...(one.identity ? [one.identity] : []),
          ...(one.initial ?? []),
          ...Object.keys(one.references ?? {}),
          ...Object.keys(one.defaults ?? {}),
        ].map((path) => path.split(/[.[]/)[0] ?? '')
        expect(named.filter((field) => !fields.includes(field))).toEqual([])
      })
    },
  )
})
