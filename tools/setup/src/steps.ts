/** What there is to set up, in order. */
const STEPS = ['migrate', 'topics', 'demo'] as const
export type Step = (typeof STEPS)[number]

/** What the command line asks for: the named steps or else all, and whether the demo project gets a new key. */
export const readArguments = (args: readonly string[]): { steps: ReadonlySet<Step>; newDemoKey: boolean } => {
  const named = args.filter((argument) => argument !== '--new-demo-key')
  const unknown = named.filter((name) => !STEPS.some((step) => step === name))
  if (unknown.length > 0)
    throw new Error(`There is no ${unknown.join(', ')}: the steps are ${STEPS.join(', ')}`)
  return {
    steps: new Set(named.length > 0 ? STEPS.filter((step) => named.includes(step)) : STEPS),
    newDemoKey: args.includes('--new-demo-key'),
  }
}
