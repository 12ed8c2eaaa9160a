/** A member of a consumer group: told which partitions are its own whenever the group changes. */
export type Member = { assign(partitions: number[]): void }

/**
 * Shares partitions among the members of each group within this process, and lets one member at a time
 * work on a partition: a newcomer waits until the one before has finished what it is handling.
 */
export const createGroupMembers = (partitions: number) => {
  const groups = new Map<string, Member[]>()
  const released = new Map<string, Promise<void>>()

  const reassign = (group: string): void => {
    const members = groups.get(group) ?? []
    members.forEach((member, index) => {
      const own = Array.from({ length: partitions }, (_, partition) => partition)
      member.assign(own.filter((partition) => partition % members.length === index))
    })
  }

  return {
    join: (group: string, member: Member): void => {
      groups.set(group, [...(groups.get(group) ?? []), member])
      reassign(group)
    },
    leave: (group: string, member: Member): void => {
      groups.set(
        group,
        (groups.get(group) ?? []).filter((other) => other !== member),
      )
      reassign(group)
    },
    /** Runs `work` once nobody else of the group works on that partition. */
    exclusively: (group: string, partition: number, work: () => Promise<void>): Promise<void> => {
      const slot = `${group}/${partition}`
      const done = (released.get(slot) ?? Promise.resolve()).then(work)
      released.set(
        slot,
        done.catch(() => {}),
      )
      return done
    },
  }
}

export type GroupMembers = ReturnType<typeof createGroupMembers>
