import type { Database } from '@waymark/database'

type Deps = Pick<Database, 'prisma'>

/** The kinds of resources that demo data has. */
export const demoResourceKinds = [
  'dashboard',
  'decision',
  'emailTrigger',
  'eventDefinition',
  'insight',
  'link',
  'meteringSelector',
  'pool',
  'suppression',
] as const
export type DemoResourceKind = (typeof demoResourceKinds)[number]

/** What was added to a project as an example. */
export type DemoData = {
  projectId: string
  visitorIds: string[]
  userIds: string[]
  /** Ids of resources by `<kind>:<name>`. */
  resources: Readonly<Record<string, string>>
  createdAt: Date
  /** When all of it was there; null while it is being added. */
  completedAt: Date | null
  removedAt: Date | null
}

/** The demo data that a project has or had; undefined when it never had any. */
export const findDemoData = async ({ prisma }: Deps, projectId: string): Promise<DemoData | undefined> => {
  const row = await prisma.demoData.findUnique({ where: { projectId } })
  return row ? { ...row, resources: row.resources as DemoData['resources'] } : undefined
}

/** Remembers whose data is about to be added, before any of it is. */
export const beginDemoData = async (
  { prisma }: Deps,
  data: Pick<DemoData, 'projectId' | 'visitorIds' | 'userIds' | 'createdAt'>,
): Promise<void> => {
  await prisma.demoData.create({ data })
}

/** Remembers which resources were added so far, and whether that is all. */
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
