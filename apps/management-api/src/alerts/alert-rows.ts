import {
  type AlertCondition,
  AlertEvaluationView,
  type AlertMeasure,
  AlertView,
} from '@waymark/contracts/http/alerts'
import { pick } from '@waymark/contracts/http/pick'
import { maskedUrl } from '@waymark/contracts/masked-url'
import type { Prisma } from '@waymark/database'
import { requireFound } from '../http/validation.ts'
import { lockRow } from '../lock-queries.ts'

/** A stored alert. */
export type AlertRow = Prisma.AlertGetPayload<object>

/** What an alert watches. */
export const measureOf = ({ insightId, measure }: Pick<AlertRow, 'insightId' | 'measure'>): AlertMeasure => ({
  ...(insightId !== null && { insightId }),
  ...(measure as AlertMeasure),
})

/** When a stored alert fires. It was validated when it was saved. */
export const conditionOf = ({ condition }: Pick<AlertRow, 'condition'>): AlertCondition =>
  condition as AlertCondition

/** Reads an alert and locks it until the transaction ends. @throws AppError not_found */
export const lockAlert = async (
  tx: Prisma.TransactionClient,
  projectId: string,
  id: string,
): Promise<AlertRow> => {
  await lockRow(tx, 'core.alerts', id)
  return requireFound(await tx.alert.findFirst({ where: { id, projectId } }))
}

/** An alert as it is answered: its secret address is masked. */
export const viewOf = (alert: AlertRow) =>
  pick(
    {
      ...alert,
      measure: measureOf(alert),
      slackUrl: alert.slackUrl === null ? null : maskedUrl(alert.slackUrl),
    },
    AlertView,
  )

/** What the `ETag` is made of: evaluations are not a change. */
export const versionOf = ({ id, version, mutedUntil }: AlertRow) => ({ id, version, mutedUntil })

export const evaluationViewOf = (evaluation: Prisma.AlertEvaluationGetPayload<object>) =>
  pick(evaluation, AlertEvaluationView)
