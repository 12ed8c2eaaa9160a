import { LINK_COLUMNS, readTable, type TableLayout } from '@waymark/domain/table'

/** A line of an import, and its error. */
type LinkRow = {
  line: number
  link: { destination: string; code?: string; campaign?: string; domain?: string }
  problem?: string
}

/** The links of a text and how its columns are read, or why they cannot be. */
export type LinkTable = { layout: TableLayout; rows: LinkRow[] } | { problem: string }

/** Reads links from a table in any format of spreadsheets, with or without a header. */
export const parseLinks = (text: string): LinkTable => {
  const read = readTable(text, { ...LINK_COLUMNS, fits: canBeLink })
  if ('problem' in read) return read
  const seen = new Set<string>()
  const rows = read.rows.map(({ line, values }): LinkRow => {
    const { destination = '', code, campaign, domain } = values
    const link = {
      destination,
      ...(code && { code }),
      ...(campaign && { campaign }),
      ...(domain && { domain }),
    }
    // Codes are unique per domain.
    const address = `${domain?.toLowerCase() ?? ''}/${code}`
    const problem = problemOf(destination, code, seen.has(address))
    if (code) seen.add(address)
    return { line, link, ...(problem && { problem }) }
  })
  return { layout: read.layout, rows }
}

const problemOf = (
  destination: string,
  code: string | undefined,
  isRepeated: boolean,
): string | undefined => {
  if (!isWebAddress(destination)) return 'no http or https URL'
  if (code !== undefined && !CODE.test(code)) return 'code with other than letters, digits, - and _'
  return code !== undefined && isRepeated ? 'code is there twice' : undefined
}

const CODE = /^[\w-]+$/

const isWebAddress = (text: string): boolean => /^https?:$/.test(URL.parse(text)?.protocol ?? '')

const canBeLink = ([destination = '', code = '']: readonly string[]): boolean =>
  isWebAddress(destination) && (code === '' || CODE.test(code))
