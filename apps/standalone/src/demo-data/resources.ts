const text = { type: 'string' }
const cents = { type: 'integer', minimum: 0 }

/** The resources of the demo project, as bodies of API requests. */
export const resources = {
  newsletter: {
    code: 'demo-newsletter',
    destination: 'https://shop.example/sale',
    campaign: 'autumn-sale',
    tags: ['demo', 'email'],
    utm: { source: 'newsletter', medium: 'email', campaign: 'autumn-sale' },
  },
  instagram: {
    code: 'demo-instagram',
    destination: 'https://shop.example/sale',
    campaign: 'autumn-sale',
    tags: ['demo', 'social'],
    utm: { source: 'instagram', medium: 'social', campaign: 'autumn-sale' },
  },
  // An order without a currency does not come from the demo.
  orders: {
    eventName: 'order_placed',
    filter: { '!!': [{ var: 'properties.currency' }] },
    amountProperty: 'total',
    currencyProperty: 'currency',
  },
  signUps: { eventName: 'signed_up' },
  definitions: [
    {
      name: 'page_view',
      description: 'A page of the shop was opened.',
      schema: { type: 'object', properties: { url: text, path: text, title: text, referrer: text } },
    },
    {
      name: 'product_viewed',
      description: 'A product was looked at.',
      schema: { type: 'object', properties: { sku: text, name: text, category: text }, required: ['sku'] },
    },
    {
      name: 'added_to_cart',
      description: 'A product was put into the cart.',
      schema: { type: 'object', properties: { sku: text, price: cents, currency: text }, required: ['sku'] },
    },
    {
      name: 'signed_up',
      description: 'Someone opened an account.',
      schema: { type: 'object', properties: { plan: { enum: ['free', 'plus'] } } },
    },
    {
      name: 'order_placed',
      description: 'An order was paid. Its total is in cents.',
      schema: { type: 'object', properties: { total: cents, currency: text }, required: ['total'] },
    },
  ],
  pool: {
    name: 'Welcome 10 %',
    kind: 'unique',
    size: 200,
    prefix: 'HELLO',
    discount: { type: 'percent', value: 10 },
  },
  promotion: {
    name: 'Free shipping from 50 EUR',
    kind: 'automatic',
    stackable: true,
    discount: { type: 'free_shipping', currency: 'EUR' },
    rules: { minimumAmount: 5_000 },
  },
  giftCards: {
    name: 'Gift card 50 EUR',
    kind: 'balance',
    size: 12,
    prefix: 'GIFT',
    amount: 5_000,
    currency: 'EUR',
  },
  /** The terms of the programme that do not need the id of the selector of orders. */
  programme: {
    key: 'demo-club',
    name: 'Club',
    expiryMonths: 24,
    spending: { points: 100, amount: 100, currency: 'EUR', minimum: 500 },
    tiers: [
      { key: 'basic', name: 'Basic', points: 0 },
      { key: 'silver', name: 'Silver', points: 80 },
      { key: 'gold', name: 'Gold', points: 110 },
    ],
  },
  /** One point for each euro. */
  earning: { points: 1, perAmount: 100, currency: 'EUR' },
  decision: {
    key: 'demo-sale-banner',
    name: 'Banner on the sale page',
    description: 'Does a banner with a countdown sell more?',
    status: 'active',
    variants: [
      { key: 'plain', value: { banner: 'plain' } },
      { key: 'countdown', value: { banner: 'countdown' } },
    ],
    fallbackVariant: 'plain',
    rules: [
      {
        id: 'halves',
        split: [
          { variant: 'plain', weight: 1 },
          { variant: 'countdown', weight: 1 },
        ],
      },
    ],
    metrics: [{ key: 'Ordered', eventName: 'order_placed', kind: 'count', goal: 'up' }],
  },
  /** The metric of the decision that needs the id of the selector of orders. */
  revenue: { key: 'Revenue', kind: 'sum', goal: 'up' },
  trigger: {
    name: 'Thank you for an order',
    eventName: 'order_placed',
    filter: { '!!': [{ var: 'properties.currency' }] },
    subject: 'Thank you, {{traits.name}}',
    html: '<h1>Thank you, {{traits.name}}</h1>\n<p>Your order is on its way to {{traits.city}}.</p>\n<p><a href="{{unsubscribeUrl}}">Unsubscribe</a></p>',
  },
  suppression: { address: 'no-mail@shop.example' },
  insights: [
    {
      name: 'Events and people a day',
      kind: 'trends',
      query: { series: [{ metric: 'events' }, { metric: 'people' }], interval: 'day' },
    },
    {
      name: 'Revenue by campaign',
      kind: 'trends',
      query: { series: [{ metric: 'revenue' }], interval: 'day', breakdown: 'campaign' },
    },
    {
      name: 'From a product to an order',
      kind: 'funnel',
      query: {
        steps: [
          { eventName: 'product_viewed' },
          { eventName: 'added_to_cart' },
          { eventName: 'order_placed' },
        ],
        windowSeconds: 7 * 86_400,
      },
    },
    {
      name: 'Who comes back',
      kind: 'retention',
      query: { startEvent: 'page_view', returnEvent: 'page_view', interval: 'day', periods: 7 },
    },
  ],
} as const
