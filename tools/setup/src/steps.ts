/** The default steps, in order. */
const STEPS = ['migrate', 'topics', 'demo'] as const
/** Steps that run only when they are named. */
const NAMED_STEPS = ['account', 'reset-second-factor', 'rewind', 'skip'] as const
const ALL_STEPS = [...STEPS, ...NAMED_STEPS]
export type Step = (typeof ALL_STEPS)[number]

type Store = 'database' | 'clickhouse' | 'kafka'
const STORES: Record<Step, readonly Store[]> = {
  migrate: ['database', 'clickhouse'],
  topics: ['kafka'],
  demo: ['database'],
  account: ['database'],
  'reset-second-factor': ['database'],
  rewind: ['kafka'],
  skip: ['kafka'],
}

/** The stores that steps use. */
export const storesOf = (steps: ReadonlySet<Step>): ReadonlySet<Store> =>
  new Set([...steps].flatMap((step) => STORES[step]))

/** Reads the command line: the named steps or the default ones, and whether the demo project gets a new key. */
export const readArguments = (args: readonly string[]): { steps: ReadonlySet<Step>; newDemoKey: boolean } => {
  const named = args.filter((argument) => argument !== '--new-demo-key')
  const unknown = named.filter((name) => !ALL_STEPS.some((step) => step === name))
  if (unknown.length > 0)
    throw new Error(`Unknown step ${unknown.join(', ')}: the steps are ${ALL_STEPS.join(', ')}`)
  return {
    steps: new Set<Step>(named.length > 0 ? ALL_STEPS.filter((step) => named.includes(step)) : STEPS),
    newDemoKey: args.includes('--new-demo-key'),
  }
}
