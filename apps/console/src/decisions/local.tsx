import type { Decision } from '../api/types.ts'

/** Whether flagd's providers can evaluate a decision in an environment, and why not. */
export const Local = ({
  decision: { notLocal },
  environment,
}: {
  decision: Pick<Decision, 'notLocal'>
  environment: string
}) => {
  const reasons = notLocal.filter((one) => one.environment === environment)
  return (
    <p className="mb-4 text-sm text-muted">
      Local evaluation:{' '}
      {reasons.length === 0
        ? 'yes'
        : `no. ${reasons.map(({ message, ruleId }) => `${message}${ruleId ? ` (rule ${ruleId})` : ''}.`).join(' ')}`}
    </p>
  )
}
