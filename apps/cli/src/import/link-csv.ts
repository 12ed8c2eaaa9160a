import { parse } from 'csv-parse/sync'
import { CliError } from '../exit-codes.ts'
import { type Imported, Unsupported } from './imported.ts'

/** A link as the API takes it. */
export type ImportedLink = {
  destination: string
  code: string
  externalId: string
  tags?: string[]
  domain?: string
}

type Row = Record<string, string>
type Options = {
  /** The link domain, if it is not that of the installation. */
  domain?: string | undefined
}

/** Reads links that Shlink's web client exported. */
export const readShlink = (csv: string, options: Options): Imported<ImportedLink> =>
  readRows(csv, (row) => {
    const code = columnOf(row, ['shortCode'])
    return {
      destination: columnOf(row, ['longUrl']),
      code,
      externalId: `shlink:${row.domain ?? ''}/${code}`,
      ...tagsOf(row.tags, '|'),
      ...(options.domain && { domain: options.domain }),
    }
  })

/**
 * The names of a column in exports of Bitly, in lower case and with `_` for spaces: first that of the console, then those
 * of its API, and of older exports.
 */
const BITLY_LINK = ['link', 'bitlink', 'short_link', 'short_url', 'id']
const BITLY_CUSTOM_LINK = ['custom_link', 'custom_links', 'custom_bitlinks', 'custom_bitlink']
const BITLY_DESTINATION = ['destination_url', 'long_url', 'destination', 'original_url']

/** Reads links that Bitly exported. A custom back-half comes before the generated one. */
export const readBitly = (csv: string, options: Options): Imported<ImportedLink> =>
  readRows(csv, (given) => {
    const row = Object.fromEntries(
      Object.entries(given).map(([name, value]) => [
        name.trim().toLowerCase().replaceAll(/\W+/g, '_'),
        value,
      ]),
    )
    if (/^(?:true|yes|1)$/i.test(row.archived ?? '')) throw new Unsupported('it is archived')
    const link = columnOf(row, BITLY_LINK)
    const custom = firstOf(row, BITLY_CUSTOM_LINK)
      ?.replaceAll(/^\[|\]$|"/g, '')
      .split(/[,|;]/)[0]
      ?.trim()
    const { host, code } = partsOf(custom || link)
    return {
      destination: columnOf(row, BITLY_DESTINATION),
      code,
      externalId: `bitly:${host}/${code}`,
      ...tagsOf(row.tags, /[,|;]/),
      ...(options.domain && { domain: options.domain }),
    }
  })

const partsOf = (link: string): { host: string; code: string } => {
  const url = URL.parse(/^https?:/i.test(link) ? link : `https://${link}`)
  const code = url?.pathname.slice(1) ?? ''
  if (!url || code === '') throw new Unsupported(`its link is no address of a link: ${link}`)
  return { host: url.host, code }
}

const firstOf = (row: Row, names: readonly string[]): string | undefined =>
  names.map((name) => row[name]?.trim()).find(Boolean)

const columnOf = (row: Row, names: readonly string[]): string => {
  const found = firstOf(row, names)
  if (found === undefined) throw new Unsupported(`it has no ${names[0]}`)
  return found
}

const tagsOf = (tags: string | undefined, separator: string | RegExp): { tags?: string[] } => {
  const all = (tags ?? '')
    .replaceAll(/^\[|\]$|"/g, '')
    .split(separator)
    .map((tag) => tag.trim())
    .filter(Boolean)
  return all.length > 0 ? { tags: [...new Set(all)] } : {}
}

/** @throws CliError for a file that is no CSV */
const readRows = (csv: string, read: (row: Row) => ImportedLink): Imported<ImportedLink> => {
  const imported: Imported<ImportedLink> = { items: [], refused: [] }
  for (const { record, info } of parseCsv(csv)) {
    try {
      imported.items.push(read(record))
    } catch (error) {
      if (!(error instanceof Unsupported)) throw error
      imported.refused.push({ where: `line ${info.lines}`, reason: error.message })
    }
  }
  return imported
}

const parseCsv = (csv: string): { record: Row; info: { lines: number } }[] => {
  try {
    return parse(csv, { columns: true, bom: true, info: true, skip_empty_lines: true, trim: true }) as never
  } catch (error) {
    throw new CliError(`The file is no CSV: ${(error as Error).message}`)
  }
}
