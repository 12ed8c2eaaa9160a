/** A proxy of `target` that notes in `touched` which of its members are used, with the SQL of queries. */
export const noteCalls = <T extends object>(touched: string[], target: T, label: string): T =>
  new Proxy(target, {
    get: (_, name) => {
      const value: unknown = Reflect.get(target, name)
      if (typeof value !== 'function') {
        touched.push(`${label}.${String(name)}`)
        return value
      }
      return (...args: unknown[]) => {
        const [query] = args
        const text: unknown = typeof query === 'object' && query !== null ? Reflect.get(query, 'text') : query
        touched.push(`${label}.${String(name)} ${typeof text === 'string' ? text : ''}`)
        return Reflect.apply(value, target, args)
      }
    },
  })
