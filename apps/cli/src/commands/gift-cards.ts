import { randomUUID } from 'node:crypto'
import { amountOfDecimal, decimalOf } from '@waymark/contracts/amount-text'
import type { AddCommands } from '../command.ts'
import type { Context } from '../context.ts'
import { CliError, EXIT } from '../exit-codes.ts'
import { findPool } from './coupons.ts'

const COLLECTION = '/api/projects/{projectId}/gift-cards'
const ONE = `${COLLECTION}/{id}` as const
/** The accounts of a pool, in the order in which they are shown. */
const ACCOUNTS = ['issued', 'spent', 'breakage', 'transferred', 'balance'] as const

type MovementOptions = { card?: string; pool?: string; order?: string; limit: string }
type RefundOptions = { amount?: string; reason?: string }
type TransferOptions = RefundOptions & { key?: string }
type TopUpOptions = Pick<TransferOptions, 'key' | 'reason'>

/** `waymark gift-cards` */
export const addGiftCardCommands: AddCommands = (program, run) => {
  const cards = program.command('gift-cards').description('show gift cards, and move their money')
  const command = (name: string, description: string) => cards.command(name).description(description)
  command('show', 'show a card and what it holds').argument('<card>', 'its code').action(run(show))
  command('movements', 'list movements, the newest first')
    .option('--card <code>', 'those of a card')
    .option('--pool <pool>', 'those of a pool, by its id or name')
    .option('--order <id>', 'those of an order')
    .option('--limit <count>', 'how many at most', '50')
    .action(run(listMovements))
  command('ledger', 'show the accounts of a pool')
    .argument('<pool>', 'the id or the name of the pool')
    .action(run(showLedger))
  command('top-up', 'add to the balance of a card')
    .argument('<card>', 'its code')
    .argument('<amount>', 'a decimal such as 25.00')
    .option('--key <key>', 'a key of your own: a repeat with it moves nothing')
    .option('--reason <text>', 'shown with the movement')
    .action(run(topUp))
  command('refund', 'return what a card paid for an order')
    .argument('<card>', 'its code')
    .argument('<order>', 'the id of the order')
    .option('--amount <amount>', 'what is refunded in all, such as 25.00; default: everything')
    .option('--reason <text>', 'shown with the movement')
    .action(run(refund))
  command('transfer', 'move the balance of a card to another')
    .argument('<card>', 'its code')
    .argument('<to>', 'the code of the other card')
    .option('--amount <amount>', 'such as 25.00; default: everything')
    .option('--key <key>', 'a key of your own: a repeat with it moves nothing')
    .option('--reason <text>', 'shown with the movement')
    .action(run(transfer))
}

const show = async (context: Context, code: string): Promise<void> => {
  const card = await findCard(context, code)
  const { status, balance, heldUntil } = card
  const row = { code: card.code, status, balance: decimalOf(balance.amount, balance.currency), heldUntil }
  context.out.table(
    card,
    [{ ...row, currency: balance.currency }],
    ['code', 'status', 'balance', 'currency', 'heldUntil'],
  )
}

const listMovements = async (
  context: Context,
  { card, pool, order, limit }: MovementOptions,
): Promise<void> => {
  const client = await context.client()
  const projectId = await context.projectId()
  const { data } = await client.get(`${COLLECTION}/movements`, {
    params: {
      path: { projectId },
      query: {
        limit: Number(limit),
        ...(card !== undefined && { couponId: (await findCard(context, card)).id }),
        ...(pool !== undefined && { poolId: await findPool(client, projectId, pool) }),
        ...(order !== undefined && { orderId: order }),
      },
    },
  })
  const rows = data.map(({ createdAt, kind, amount, currency, orderId, userId, reason }) => ({
    createdAt,
    kind,
    amount: decimalOf(amount, currency),
    currency,
    orderId,
    userId,
    reason,
  }))
  context.out.table(data, rows, ['createdAt', 'kind', 'amount', 'currency', 'orderId', 'userId', 'reason'])
}

const showLedger = async (context: Context, pool: string): Promise<void> => {
  const client = await context.client()
  const projectId = await context.projectId()
  const id = await findPool(client, projectId, pool)
  const ledger = await client.get('/api/projects/{projectId}/coupon-pools/{id}/ledger', {
    params: { path: { projectId, id } },
  })
  const { currency } = ledger
  if (currency === null) throw new CliError(`The pool ${pool} has no gift cards`)
  const rows = ACCOUNTS.map((account) => ({
    account,
    amount: decimalOf(ledger[account], currency),
    currency,
  }))
  context.out.table(ledger, rows, ['account', 'amount', 'currency'])
}

const topUp = async (
  context: Context,
  code: string,
  amount: string,
  { key = randomUUID(), reason }: TopUpOptions,
): Promise<void> => {
  const client = await context.client()
  const card = await findCard(context, code)
  const changed = await client.post(`${ONE}/top-up`, {
    params: { path: await pathOf(context, card) },
    body: { amount: amountOf(amount, card), key, ...(reason !== undefined && { reason }) },
  })
  printBalance(context, changed)
}

const refund = async (
  context: Context,
  code: string,
  orderId: string,
  { amount, reason }: RefundOptions,
): Promise<void> => {
  const client = await context.client()
  const card = await findCard(context, code)
  const changed = await client.post(`${ONE}/refund`, {
    params: { path: await pathOf(context, card) },
    body: {
      orderId,
      ...(amount !== undefined && { amount: amountOf(amount, card) }),
      ...(reason !== undefined && { reason }),
    },
  })
  printBalance(context, changed)
}

const transfer = async (
  context: Context,
  code: string,
  to: string,
  { amount, key = randomUUID(), reason }: TransferOptions,
): Promise<void> => {
  const client = await context.client()
  const card = await findCard(context, code)
  const changed = await client.post(`${ONE}/transfer`, {
    params: { path: await pathOf(context, card) },
    body: {
      to,
      key,
      ...(amount !== undefined && { amount: amountOf(amount, card) }),
      ...(reason !== undefined && { reason }),
    },
  })
  printBalance(context, changed)
}

type Holding = { code: string; balance: { amount: number; currency: string } | null }
type Card = Awaited<ReturnType<typeof findCard>>

/** A gift card by its code. @throws CliError when there is none */
const findCard = async (context: Context, code: string) => {
  const client = await context.client()
  // Codes that begin with `q` are in the order of codes, so that the code itself is the first.
  const { data } = await client.get('/api/projects/{projectId}/coupons', {
    params: { path: { projectId: await context.projectId() }, query: { q: code, limit: 1 } },
  })
  const [found] = data
  if (found === undefined || comparable(found.code) !== comparable(code))
    throw new CliError(`There is no coupon ${code}`, EXIT.notFound)
  const { balance } = found
  if (balance === null) throw new CliError(`${found.code} is no gift card`)
  return { ...found, balance }
}

/** Codes are equal whatever their case, dashes and spaces. */
const comparable = (code: string): string => code.toUpperCase().replaceAll(/[^0-9A-Z_.]/g, '')

const pathOf = async (context: Context, { id }: Card) => ({ projectId: await context.projectId(), id })

/** A decimal in minor units of the currency of a card. @throws CliError for other text */
const amountOf = (text: string, { balance: { currency } }: Card): number => {
  const amount = amountOfDecimal(text, currency)
  if (amount === undefined) throw new CliError(`${text} is no amount of ${currency}`)
  return amount
}

const printBalance = ({ out }: Context, card: Holding): void => {
  const { code, balance } = card
  const held = balance ? `${decimalOf(balance.amount, balance.currency)} ${balance.currency}` : 'nothing'
  out.result(card, `${code} holds ${held}`)
}
