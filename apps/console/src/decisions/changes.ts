/** A JSON Pointer in words: `/rules/0/rollout` is `rules 1 › rollout`. */
export const placeOf = (path: string): string =>
  path
    .split('/')
    .slice(1)
    .map((name) => name.replaceAll('~1', '/').replaceAll('~0', '~'))
    .join(' › ')
    .replaceAll(/ › (\d+)(?= ›|$)/g, (_, index) => ` ${Number(index) + 1}`)
