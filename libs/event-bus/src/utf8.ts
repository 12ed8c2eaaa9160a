/** Bytes that a UTF-16 unit takes in UTF-8 at the most. */
export const MAX_UNIT_BYTES = 3
