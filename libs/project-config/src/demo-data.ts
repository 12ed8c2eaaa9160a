import type { Database } from '@waymark/database'

type Deps = Pick<Database, 'prisma'>

/** The kinds of resources in demo data. */
export type DemoResourceKind =
  | 'dashboard'
  | 'decision'
  | 'emailTrigger'
  | 'eventDefinition'
  | 'insight'
  | 'link'
  | 'loyaltyProgramme'
  | 'meteringSelector'
  | 'pool'
  | 'suppression'

/** The demo data of a project. */
export type DemoData = {
  projectId: string
  visitorIds: string[]
  userIds: string[]
  /** Ids of resources by `<kind>:<name>`. */
  resources: Readonly<Record<string, string>>
  createdAt: Date
  /** Null while data is being added. */
  completedAt: Date | null
  removedAt: Date | null
}

/** The demo data of a project, also if it was removed. Undefined when there never was any. */
export const findDemoData = async ({ prisma }: Deps, projectId: string): Promise<DemoData | undefined> => {
  const row = await prisma.demoData.findUnique({ where: { projectId } })
  return row ? { ...row, resources: row.resources as DemoData['resources'] } : undefined
}

/** Stores the ids of demo people, before any of their data is added. */
export const beginDemoData = async (
  { prisma }: Deps,
  data: Pick<DemoData, 'projectId' | 'visitorIds' | 'userIds' | 'createdAt'>,
): Promise<void> => {
  await prisma.demoData.create({ data })
}

/** Stores the progress of adding or removing demo data. */
export const updateDemoData = async (
  { prisma }: Deps,
  projectId: string,
  change: Partial<Pick<DemoData, 'resources' | 'completedAt' | 'removedAt'>>,
): Promise<void> => {
  await prisma.demoData.update({ where: { projectId }, data: change })
}

/** The ids of all demo resources of a kind. */
export const demoResourceIds = ({ resources }: DemoData, kind: DemoResourceKind): string[] =>
  Object.entries(resources).flatMap(([name, id]) => (name.startsWith(`${kind}:`) ? [id] : []))
