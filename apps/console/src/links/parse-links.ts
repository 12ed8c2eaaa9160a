/** A line of an import, and its error. */
type LinkRow = {
  line: number
  link: { destination: string; code?: string; campaign?: string; domain?: string }
  problem?: string
}

/** Cells of a line of CSV; a quoted cell may contain commas. */
const cellsOf = (line: string): string[] =>
  [...line.matchAll(/(?:^|,)(?:"((?:[^"]|"")*)"|([^,]*))/g)].map(([, quoted, plain]) =>
    (quoted?.replaceAll('""', '"') ?? plain ?? '').trim(),
  )

/** Reads destination, code, campaign and domain from the lines of a CSV text. */
export const parseLinks = (text: string): LinkRow[] => {
  const seen = new Set<string>()
  return text.split(/\r?\n/).flatMap((content, index): LinkRow[] => {
    if (content.trim() === '') return []
    const [destination = '', code = '', campaign = '', domain = ''] = cellsOf(content)
    if (index === 0 && destination.toLowerCase() === 'destination') return []
    const link = {
      destination,
      ...(code && { code }),
      ...(campaign && { campaign }),
      ...(domain && { domain }),
    }
    // Codes are unique per domain.
    const place = `${domain.toLowerCase()}/${code}`
    const problem = problemOf(destination, code, seen.has(place))
    if (code) seen.add(place)
    return [{ line: index + 1, link, ...(problem && { problem }) }]
  })
}

const problemOf = (destination: string, code: string, isRepeated: boolean): string | undefined => {
  const url = URL.parse(destination)
  if (!url || !/^https?:$/.test(url.protocol)) return 'no http or https URL'
  if (code !== '' && !/^[\w-]+$/.test(code)) return 'code with other than letters, digits, - and _'
  return isRepeated ? 'code is there twice' : undefined
}
