/**
 * Distributes files over shards, so that the longest shard is short: the longest file first, each to the shard that has the
 * least to do. Files without a known time count as long as the median of the others. The result is the same for the same
 * input, so that every shard of a run finds the same distribution.
 */
export const balanceShards = <T>(
  files: readonly T[],
  shards: number,
  { nameOf, timeOf }: { nameOf: (file: T) => string; timeOf: (file: T) => number | undefined },
): T[][] => {
  const known = files.flatMap((file) => timeOf(file) ?? []).toSorted((a, b) => a - b)
  const median = known[Math.floor(known.length / 2)] ?? 1
  const longestFirst = files
    .map((file) => ({ file, name: nameOf(file), ms: timeOf(file) ?? median }))
    .toSorted((a, b) => b.ms - a.ms || (a.name < b.name ? -1 : 1))
  const filled = Array.from({ length: shards }, () => ({ files: [] as T[], ms: 0 }))
  for (const { file, ms } of longestFirst) {
    const [emptiest] = filled.toSorted((a, b) => a.ms - b.ms)
    emptiest?.files.push(file)
    if (emptiest) emptiest.ms += ms
  }
  return filled.map((shard) => shard.files)
}
