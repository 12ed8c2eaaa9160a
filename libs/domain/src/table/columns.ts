/** What the columns of a table can be. */
export type TableColumns = {
  /** The column that every row has. */
  key: string
  /** The names of each column in headers, in the order of columns in a table without a header. */
  names: Readonly<Record<string, readonly string[]>>
  /** Whether the cells of a row can be such columns in their order. Without it, a table of several needs a header. */
  fits?: (cells: readonly string[]) => boolean
}

/** The columns of an import of coupons. */
export const COUPON_COLUMNS: TableColumns = {
  key: 'code',
  names: {
    code: [
      'code',
      'coupon',
      'coupon code',
      'promo code',
      'promotion code',
      'discount code',
      'voucher',
      'voucher code',
      'voucher number',
      'gift card code',
      'gift card number',
      'card number',
      'codes',
      'coupon codes',
      'voucher codes',
      'Gutschein',
      'Gutscheincode',
      'Gutscheinnummer',
      'Rabattcode',
      'code promo',
      'code de réduction',
      'código',
      'código promocional',
      'código de descuento',
      'codice sconto',
    ],
  },
}

/** The columns of an import of gift cards. `balance` is a decimal. */
export const GIFT_CARD_COLUMNS: TableColumns = {
  ...COUPON_COLUMNS,
  names: {
    ...COUPON_COLUMNS.names,
    balance: [
      'balance',
      'current balance',
      'remaining balance',
      'Guthaben',
      'Restguthaben',
      'solde',
      'saldo',
    ],
  },
}

/** The columns of an import of links. */
export const LINK_COLUMNS: TableColumns = {
  key: 'destination',
  names: {
    destination: [
      'destination',
      'destination url',
      'long url',
      'target',
      'target url',
      'url',
      'link',
      'Ziel',
      'Ziel-URL',
    ],
    code: ['code', 'short code', 'slug', 'alias', 'back-half', 'keyword', 'Kurzcode'],
    campaign: ['campaign', 'utm_campaign', 'Kampagne'],
    domain: ['domain', 'short domain', 'host'],
  },
}

/** What is compared of a name in a header: letters and digits, without case, accents and invisible characters. */
export const foldName = (text: string): string =>
  text
    .normalize('NFKD')
    .toLowerCase()
    .replace(/[^\p{L}\p{N}]/gu, '')

/** The column that a cell of a header names. */
export const columnNamed = (header: string, { names }: TableColumns): string | undefined => {
  const folded = foldName(header)
  return Object.keys(names).find((column) => names[column]?.some((name) => foldName(name) === folded))
}
