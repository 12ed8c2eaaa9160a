import type { Page, Properties } from './types.ts'

/** A request of a page. */
export type Sent = { path: string; query: URLSearchParams; body: Properties; headers: Record<string, string> }

/** localStorage over an object, so that its names are its keys. */
export const fakeStorage = (): Storage =>
  Object.create({
    getItem(this: Record<string, string>, name: string) {
      return this[name] ?? null
    },
    setItem(this: Record<string, string>, name: string, value: string) {
      this[name] = value
    },
    removeItem(this: Record<string, string>, name: string) {
      delete this[name]
    },
  }) as Storage

type Choices = {
  url?: string
  referrer?: string
  storage?: Storage
  navigator?: object
  /** Answers requests; 202 unless given. Throws when there is no network. */
  answer?: (request: Sent) => Response
}

/** A page as far as the script uses it. Its timers are those of the test. */
export const fakePage = ({
  url = 'https://shop.example/',
  referrer = '',
  storage = fakeStorage(),
  navigator = {},
  answer = () => new Response('{}', { status: 202 }),
}: Choices = {}) => {
  const sent: Sent[] = []
  const beacons: Sent[] = []
  let address = new URL(url)
  const location = Object.defineProperties(
    {},
    {
      ...Object.fromEntries(
        (['href', 'origin', 'pathname', 'search', 'host'] as const).map((name) => [
          name,
          { get: () => address[name] },
        ]),
      ),
    },
  )
  const change = (_state: unknown, _title: string, to: string) => {
    address = new URL(to, address)
  }
  const read = (to: string, body: string, headers: Record<string, string> = {}): Sent => {
    const { pathname, searchParams } = new URL(to)
    return { path: pathname, query: searchParams, body: JSON.parse(body), headers }
  }
  const page = Object.assign(new EventTarget(), {
    location,
    document: Object.assign(new EventTarget(), { title: 'Shop', referrer, visibilityState: 'visible' }),
    history: { pushState: change, replaceState: change },
    localStorage: storage,
    navigator: {
      sendBeacon: (to: string, body: string) => beacons.push(read(to, body)) > 0,
      ...navigator,
    },
    setTimeout: (work: () => void, ms: number) => setTimeout(work, ms),
    clearTimeout: (timer: number) => clearTimeout(timer),
    fetch: async (to: string, { body, headers }: { body: string; headers: Record<string, string> }) => {
      const request = read(to, body, headers)
      sent.push(request)
      return answer(request)
    },
  })
  return { page: page as unknown as Page, sent, beacons, storage }
}

/** The events in requests. */
export const eventsIn = (sent: readonly Sent[]): Record<string, unknown>[] =>
  sent.flatMap(({ body }) => (body.events as Record<string, unknown>[] | undefined) ?? [])
