import { randomUUID } from 'node:crypto'
import type { AddCommands } from '../command.ts'
import type { Context } from '../context.ts'
import { CliError } from '../exit-codes.ts'

const ONE = '/api/projects/{projectId}/loyalty-programmes/{key}'
/** The sums of a programme, in the order in which they are shown. */
const SUMS = ['earned', 'adjusted', 'spent', 'expired', 'balance'] as const

type PersonOptions = { user?: string; visitor?: string; profile?: string }
type MovementOptions = PersonOptions & { order?: string; limit: string }
type AdjustOptions = PersonOptions & { key?: string; reason?: string }

/** `waymark loyalty` */
export const addLoyaltyCommands: AddCommands = (program, run) => {
  const loyalty = program.command('loyalty').description('show the points of people, and change them')
  const command = (name: string, description: string) => loyalty.command(name).description(description)
  const ofPerson = (name: string, description: string) =>
    command(name, description)
      .argument('<programme>', 'its key')
      .option('--user <id>', 'the person by their user id')
      .option('--visitor <id>', 'the person by a visitor id')
      .option('--profile <id>', 'the person by the id of their profile')
  ofPerson('show', 'show what a person has').action(run(show))
  ofPerson('movements', 'list movements, the newest first')
    .option('--order <id>', 'those of an order')
    .option('--limit <count>', 'how many at most', '50')
    .action(run(listMovements))
  ofPerson('adjust', 'add points, or take some with --points=-100')
    .requiredOption('--points <count>', 'how many')
    .option('--key <key>', 'a key of your own: a repeat with it moves nothing')
    .option('--reason <text>', 'shown with the movement')
    .action(run(adjust))
  command('ledger', 'show the sums of a programme').argument('<programme>', 'its key').action(run(showLedger))
  command('reverse', 'take back what an order earned, and return what it spent')
    .argument('<order>', 'the id of the order')
    .option('--reason <text>', 'shown with the movements')
    .action(run(reverse))
}

const personOf = ({ user, visitor, profile }: PersonOptions) => ({
  ...(user !== undefined && { userId: user }),
  ...(visitor !== undefined && { visitorId: visitor }),
  ...(profile !== undefined && { profileId: profile }),
})

const pathOf = async (context: Context, key: string) => ({ projectId: await context.projectId(), key })

type Account = {
  balance: number
  earned: number
  tier: { name: string } | null
  nextExpiry: { points: number; at: string } | null
}

const printAccount = ({ out }: Context, account: Account): void => {
  const { balance, earned, tier, nextExpiry } = account
  const row = {
    balance,
    earned,
    tier: tier?.name ?? null,
    expiring: nextExpiry?.points ?? null,
    expiresAt: nextExpiry?.at ?? null,
  }
  out.table(account, [row], ['balance', 'earned', 'tier', 'expiring', 'expiresAt'])
}

const show = async (context: Context, key: string, options: PersonOptions): Promise<void> => {
  const client = await context.client()
  const path = await pathOf(context, key)
  printAccount(context, await client.get(`${ONE}/account`, { params: { path, query: personOf(options) } }))
}

const listMovements = async (
  context: Context,
  key: string,
  { order, limit, ...options }: MovementOptions,
): Promise<void> => {
  const client = await context.client()
  const { data } = await client.get(`${ONE}/movements`, {
    params: {
      path: await pathOf(context, key),
      query: {
        limit: Number(limit),
        ...personOf(options),
        ...(order !== undefined && { orderId: order }),
      },
    },
  })
  context.out.table(data, data, ['createdAt', 'kind', 'points', 'orderId', 'expiresAt', 'reason'])
}

const adjust = async (
  context: Context,
  programme: string,
  { points, key = randomUUID(), reason, ...options }: AdjustOptions & { points: string },
): Promise<void> => {
  if (!/^[+-]?\d{1,10}$/.test(points)) throw new CliError(`${points} is no number of points`)
  const client = await context.client()
  const account = await client.post(`${ONE}/adjust`, {
    params: { path: await pathOf(context, programme) },
    body: {
      ...personOf(options),
      points: Number(points),
      key,
      ...(reason !== undefined && { reason }),
    },
  })
  printAccount(context, account)
}

const showLedger = async (context: Context, key: string): Promise<void> => {
  const client = await context.client()
  const ledger = await client.get(`${ONE}/ledger`, { params: { path: await pathOf(context, key) } })
  const rows = SUMS.map((sum) => ({ sum, points: ledger[sum] }))
  context.out.table(ledger, rows, ['sum', 'points'])
}

const reverse = async (context: Context, orderId: string, { reason }: { reason?: string }): Promise<void> => {
  const client = await context.client()
  const result = await client.post('/api/projects/{projectId}/loyalty-orders/reverse', {
    params: { path: { projectId: await context.projectId() } },
    body: { orderId, ...(reason !== undefined && { reason }) },
  })
  context.out.table(result, result.programmes, ['programmeId', 'earned', 'spent', 'shortfall'])
}
