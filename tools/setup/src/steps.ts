/** What there is to set up, in order. */
const STEPS = ['migrate', 'topics', 'demo'] as const
/** What is done only when it is named. */
const NAMED_STEPS = ['account'] as const
const ALL_STEPS = [...STEPS, ...NAMED_STEPS]
export type Step = (typeof ALL_STEPS)[number]

/** What the command line asks for: the named steps or else all but those that have to be named, and whether the demo project gets a new key. */
export const readArguments = (args: readonly string[]): { steps: ReadonlySet<Step>; newDemoKey: boolean } => {
  const named = args.filter((argument) => argument !== '--new-demo-key')
  const unknown = named.filter((name) => !ALL_STEPS.some((step) => step === name))
  if (unknown.length > 0)
    throw new Error(`There is no ${unknown.join(', ')}: the steps are ${ALL_STEPS.join(', ')}`)
  return {
    steps: new Set<Step>(named.length > 0 ? ALL_STEPS.filter((step) => named.includes(step)) : STEPS),
    newDemoKey: args.includes('--new-demo-key'),
  }
}
