import { createRandom, type Random } from './random.ts'

/** A visitor of the demo's shop. */
export type Shopper = {
  visitorId: string
  /** A second device, on which they sign in later. */
  secondVisitorId: string | undefined
  /** Set for those who sign up. */
  userId: string | undefined
  traits: Record<string, string | number | boolean>
  userAgent: string
  ip: string
  country: string
  source: Source
  /** The time since their first visit, in ms. */
  firstSeenAgoMs: number
}

type Source = {
  /** The name of a short link of the demo. */
  link?: 'newsletter' | 'instagram'
  utm: string
  referrer: string | undefined
}

/** An action of a shopper, `agoMs` before now. */
export type Step =
  | {
      kind: 'event'
      agoMs: number
      name: string
      /** The number of the visit, from 0. */
      visit: number
      properties: Record<string, unknown>
      signedIn: boolean
      first: boolean
      /** Where the visit came from, on its first page. */
      landing?: Source
    }
  | { kind: 'signUp'; agoMs: number }
  | { kind: 'secondDevice'; agoMs: number }

const DAY_MS = 86_400_000
const MINUTE_MS = 60_000
const DAYS = 14
const SHOPPERS = 64
const SEED = 20_261

const NAMES: readonly [string, string, string, string][] = [
  ['Mia Fischer', 'mia.fischer', 'Berlin', 'DE'],
  ['Jonas Weber', 'jonas.weber', 'Hamburg', 'DE'],
  ['Léa Martin', 'lea.martin', 'Lyon', 'FR'],
  ['Noah Jansen', 'noah.jansen', 'Utrecht', 'NL'],
  ['Sofia Rossi', 'sofia.rossi', 'Milan', 'IT'],
  ['Oscar Lind', 'oscar.lind', 'Malmö', 'SE'],
  ['Clara Novak', 'clara.novak', 'Vienna', 'AT'],
  ['Lucas Silva', 'lucas.silva', 'Porto', 'PT'],
  ['Emma Dubois', 'emma.dubois', 'Brussels', 'BE'],
  ['Felix Braun', 'felix.braun', 'Munich', 'DE'],
  ['Ines García', 'ines.garcia', 'Valencia', 'ES'],
  ['Tom Baker', 'tom.baker', 'Leeds', 'GB'],
  ['Anna Kowalska', 'anna.kowalska', 'Kraków', 'PL'],
  ['Elias Koch', 'elias.koch', 'Zürich', 'CH'],
  ['Nora Hansen', 'nora.hansen', 'Oslo', 'NO'],
  ['Paul Keller', 'paul.keller', 'Cologne', 'DE'],
]

const AGENTS: readonly [string, ...string[]] = [
  'Mozilla/5.0 (Windows NT 10.0; Win64; x64) AppleWebKit/537.36 (KHTML, like Gecko) Chrome/142.0.0.0 Safari/537.36',
  'Mozilla/5.0 (iPhone; CPU iPhone OS 18_6 like Mac OS X) AppleWebKit/605.1.15 (KHTML, like Gecko) Version/18.6 Mobile/15E148 Safari/604.1',
  'Mozilla/5.0 (Macintosh; Intel Mac OS X 10_15_7) AppleWebKit/605.1.15 (KHTML, like Gecko) Version/18.6 Safari/605.1.15',
  'Mozilla/5.0 (Linux; Android 16; Pixel 9) AppleWebKit/537.36 (KHTML, like Gecko) Chrome/142.0.0.0 Mobile Safari/537.36',
  'Mozilla/5.0 (X11; Linux x86_64; rv:145.0) Gecko/20100101 Firefox/145.0',
  'Mozilla/5.0 (iPad; CPU OS 18_6 like Mac OS X) AppleWebKit/605.1.15 (KHTML, like Gecko) Version/18.6 Mobile/15E148 Safari/604.1',
]

const NEWSLETTER: Source = {
  link: 'newsletter',
  utm: 'utm_source=newsletter&utm_medium=email&utm_campaign=autumn-sale',
  referrer: undefined,
}
const INSTAGRAM: Source = {
  link: 'instagram',
  utm: 'utm_source=instagram&utm_medium=social&utm_campaign=autumn-sale',
  referrer: 'https://www.instagram.com/',
}
const DIRECT: Source = { utm: '', referrer: undefined }
const SOURCES: readonly [Source, ...Source[]] = [
  NEWSLETTER,
  NEWSLETTER,
  INSTAGRAM,
  {
    utm: 'utm_source=google&utm_medium=cpc&utm_campaign=running-shoes',
    referrer: 'https://www.google.com/',
  },
  { utm: '', referrer: 'https://www.google.com/' },
  { utm: '', referrer: 'https://runnersblog.example/best-shoes' },
  DIRECT,
]

/** Where those come from who were in the shop before. */
const LATER_SOURCES: readonly [Source, ...Source[]] = [
  DIRECT,
  DIRECT,
  { utm: '', referrer: 'https://www.google.com/' },
  { utm: '', referrer: 'https://duckduckgo.com/' },
  { utm: 'gclid=demo-click', referrer: 'https://www.google.com/' },
  { utm: 'utm_source=newsletter&utm_medium=email&utm_campaign=new-colors', referrer: undefined },
  { utm: '', referrer: 'https://www.instagram.com/' },
]

/** The pages on which visits begin that no campaign brings to the sale. */
const ENTRY_PAGES: readonly [readonly [string, string], ...(readonly [string, string])[]] = [
  ['/', 'Home'],
  ['/', 'Home'],
  ['/shoes', 'shoes'],
  ['/jackets', 'jackets'],
  ['/guides/first-marathon', 'Your first marathon'],
]
/** The share of visits that end with their first page: of those who never sign up, and of later visits of others. */
const STRANGERS_BOUNCE = 0.5
const CUSTOMERS_BOUNCE = 0.25

/** A product, with its price in cents. */
type Product = { sku: string; name: string; category: string; price: number }
const PRODUCTS: readonly [Product, ...Product[]] = [
  { sku: 'TR-210', name: 'Trail runner', category: 'shoes', price: 12_990 },
  { sku: 'RD-110', name: 'Road runner', category: 'shoes', price: 9_990 },
  { sku: 'JK-040', name: 'Rain jacket', category: 'jackets', price: 14_900 },
  { sku: 'BP-018', name: 'Day pack 18 l', category: 'bags', price: 6_490 },
  { sku: 'SK-003', name: 'Wool socks', category: 'socks', price: 1_690 },
  { sku: 'CP-007', name: 'Running cap', category: 'caps', price: 2_490 },
]

/** The people of the demo, always the same. */
export const createShoppers = (): Shopper[] => {
  const random = createRandom(SEED)
  return Array.from({ length: SHOPPERS }, (_, at) => {
    const [name, address, city, country] = NAMES[at % NAMES.length] ?? ['Mia Fischer', 'mia', 'Berlin', 'DE']
    const number = `${at + 1}`.padStart(3, '0')
    const signsUp = at < NAMES.length || random.chance(0.3)
    const suffix = at < NAMES.length ? '' : `.${number}`
    return {
      visitorId: `demo-visitor-${number}`,
      secondVisitorId: signsUp && at % 5 === 0 ? `demo-visitor-${number}-phone` : undefined,
      userId: signsUp ? `demo-user-${number}` : undefined,
      traits: {
        name,
        email: `${address}${suffix}@shop.example`,
        plan: random.chance(0.3) ? 'plus' : 'free',
        city,
        country,
        newsletter: random.chance(0.6),
      },
      userAgent: random.pick(AGENTS),
      ip: `203.0.113.${random.whole(1, 254)}`,
      country,
      source: random.pick(SOURCES),
      // The number of visitors rises towards the end, as after a campaign.
      firstSeenAgoMs: (1 - random.between(0, 1) ** 0.7) * (DAYS * DAY_MS - 3_600_000) + 5 * MINUTE_MS,
    }
  })
}

/** The actions of a shopper, in order. */
export const stepsOf = (shopper: Shopper, at: number): Step[] => {
  const random = createRandom(SEED + 1_000 + at)
  const arrivals = createRandom(SEED + 2_000 + at)
  const steps: Step[] = []
  let agoMs = shopper.firstSeenAgoMs
  let signedIn = false
  let visit = 0
  const pass = (minMs: number, maxMs: number): boolean => {
    agoMs -= random.between(minMs, maxMs)
    return agoMs > MINUTE_MS
  }
  const add = (name: string, properties: Record<string, unknown>, landing?: Source): void => {
    const first = steps.length === 0
    steps.push({
      kind: 'event',
      agoMs,
      name,
      visit,
      properties,
      signedIn,
      first,
      ...(landing && { landing }),
    })
  }
  const view = (path: string, title: string, landing?: Source) => add('page_view', { path, title }, landing)
  const arrive = (): void => {
    const source = visit === 0 ? shopper.source : arrivals.pick(LATER_SOURCES)
    const [path, title] = source.link ? ['/sale', 'Autumn sale'] : arrivals.pick(ENTRY_PAGES)
    view(path, title, source)
  }
  const bounces = (): boolean =>
    shopper.userId ? visit > 0 && arrivals.chance(CUSTOMERS_BOUNCE) : arrivals.chance(STRANGERS_BOUNCE)

  const visits = shopper.userId ? random.whole(2, 4) : random.whole(1, 2)
  for (; visit < visits; visit++) {
    if (visit > 0 && !pass(0.3 * DAY_MS, 3 * DAY_MS)) break
    if (visit === 1 && shopper.secondVisitorId && signedIn) steps.push({ kind: 'secondDevice', agoMs })
    arrive()
    if (bounces()) continue
    const cart: Product[] = []
    const looks = random.whole(1, 3)
    for (let look = 0; look < looks && pass(0.3 * MINUTE_MS, 3 * MINUTE_MS); look++) {
      const product = random.pick(PRODUCTS)
      view(`/${product.category}`, product.category)
      if (!pass(0.2 * MINUTE_MS, MINUTE_MS)) break
      add('product_viewed', { sku: product.sku, name: product.name, category: product.category })
      if (random.chance(0.45) && pass(0.2 * MINUTE_MS, MINUTE_MS)) {
        cart.push(product)
        add('added_to_cart', { sku: product.sku, price: product.price, currency: 'EUR' })
      }
    }
    if (shopper.userId && !signedIn && pass(0.5 * MINUTE_MS, 2 * MINUTE_MS)) {
      signedIn = true
      steps.push({ kind: 'signUp', agoMs: agoMs + 1_000 })
      add('signed_up', { plan: shopper.traits.plan })
    }
    if (cart.length > 0 && random.chance(signedIn ? 0.75 : 0.2) && pass(MINUTE_MS, 4 * MINUTE_MS)) {
      add('order_placed', orderOf(random, cart))
    }
  }
  return steps
}

const orderOf = (random: Random, cart: readonly Product[]) => {
  const items = cart.map(({ sku, name, price }) => ({ sku, name, price, quantity: random.whole(1, 2) }))
  return {
    total: items.reduce((sum, { price, quantity }) => sum + price * quantity, 0),
    currency: 'EUR',
    items,
  }
}

/** The days over which clicks, exposures and other records are spread. */
export const DEMO_DAYS = DAYS
