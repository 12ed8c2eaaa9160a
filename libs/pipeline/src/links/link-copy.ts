/**
 * Where the shared cache holds the copy of a link that redirectors read. The version changes with its shape, since old
 * and new processes share the cache during a roll-out.
 */
export const linkCopyKey = (code: string): string => `link:v1:${code}`
