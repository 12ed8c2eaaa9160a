/** A member of a consumer group. `assign` is called whenever its partitions may have changed. */
type Member = { assign(partitions: number[]): void }

/**
 * Distributes partitions among the members of each group in this process. One member at a time works on a partition: a
 * new owner waits until the previous one has finished its batch.
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
    /** Runs `work` once no other member of the group works on the partition. */
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
