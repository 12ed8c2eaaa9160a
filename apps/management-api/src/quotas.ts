import { AppError } from '@waymark/contracts/app-error'
import type { Prisma } from '@waymark/database'
import type { Config } from '@waymark/service-kit'
import { quotasConfig } from './config.ts'
import { readConfigurationBytes } from './configuration-queries.ts'
import { lockName } from './lock-queries.ts'

/** The quotas of a project or tenant. */
export type Quotas = Config<typeof quotasConfig>

const COUNTED: Readonly<Record<keyof Quotas, string>> = {
  projects: 'projects in the tenant, including archived ones',
  members: 'members and pending invitations',
  apiKeys: 'usable API keys',
  eventDefinitions: 'event definitions in use',
  meteringSelectors: 'metering selectors in use',
  decisions: 'decisions, including archived ones',
  segments: 'segments',
  configurationBytes: 'bytes of schemas, filters, decisions and segments',
  emailSenders: 'email senders in the tenant',
  emailTriggers: 'email triggers that are not archived',
  insights: 'insights',
  dashboards: 'dashboards',
  shares: 'shared links, including expired ones',
  annotations: 'annotations',
  alerts: 'alerts',
  subscriptions: 'subscriptions',
  couponPools: 'coupon pools, including archived ones',
  couponCodes: 'coupon codes in all pools of the project',
  promotions: 'automatic promotions that are not archived',
  loyaltyProgrammes: 'loyalty programmes, including archived ones',
  links: 'short links, including archived ones',
  webhooks: 'webhooks',
}

type Transaction = Pick<Prisma.TransactionClient, '$executeRaw' | '$queryRaw' | '$queryRawUnsafe'>

/**
 * Serializes creations that count against one quota of a project or tenant until the transaction ends, so that the count
 * stays correct.
 */
export const lockQuota = (tx: Transaction, ownerId: string, quotaName: keyof Quotas): Promise<void> =>
  lockName(tx, quotaLock(ownerId, quotaName))

/** The name of the advisory lock of a quota. */
export const quotaLock = (ownerId: string, quotaName: keyof Quotas): string => `quota:${quotaName}:${ownerId}`

/**
 * @param count the number with what is to be created
 * @param field the field of the body that asks for them; empty for the whole body
 * @throws AppError unprocessable that names the quota and its setting when `count` exceeds it
 */
export const requireWithinQuota = (
  quotas: Quotas,
  quotaName: keyof Quotas,
  count: number,
  field = '',
): void => {
  const limit = quotas[quotaName]
  if (count <= limit) return
  const message =
    `Quota exceeded: at most ${limit} ${COUNTED[quotaName]} are allowed; this request needs ${count}. ` +
    `The operator of this deployment can change it with ${quotasConfig[quotaName].variable}.`
  throw new AppError('unprocessable', message, {
    quota: quotaName,
    limit,
    errors: [{ field, rule: 'quota', message }],
  })
}

/**
 * Checks the size of a project's configuration, which is read as a whole after every change. Call it at the end of the
 * transaction that changes it.
 * @throws AppError unprocessable when the change would exceed the quota
 */
export const requireConfigurationFits = async (
  tx: Transaction,
  projectId: string,
  quotas: Quotas,
): Promise<void> => {
  await lockQuota(tx, projectId, 'configurationBytes')
  requireWithinQuota(quotas, 'configurationBytes', await readConfigurationBytes(tx, projectId))
}
