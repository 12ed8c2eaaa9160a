/** A field of a CSV line, quoted as in RFC 4180 where necessary. */
export const csvField = (text: string): string =>
  /[",\r\n]/.test(text) ? `"${text.replaceAll('"', '""')}"` : text
