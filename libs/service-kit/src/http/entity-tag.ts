const TAG = /(?:W\/)?"[^"]*"/g

/** The entity tags in `If-Match` or `If-None-Match`, as they were sent. */
export const tagsIn = (header: string): string[] => header.match(TAG) ?? []

/** Whether a header lists an entity tag, weak or strong, as `If-None-Match` is compared. */
export const namesTag = (header: string | undefined, tag: string): boolean =>
  header !== undefined &&
  (header.trim() === '*' || tagsIn(header).some((given) => given.replace(/^W\//, '') === tag))
