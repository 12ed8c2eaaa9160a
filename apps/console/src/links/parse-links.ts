/** A line of an import, and its error. */
type LinkRow = {
  line: number
  link: { destination: string; code?: string; campaign?: string }
  problem?: string
}

/** Cells of a line of CSV; a quoted cell may contain commas. */
const cellsOf = (line: string): string[] =>
  [...line.matchAll(/(?:^|,)(?:"((?:[^"]|"")*)"|([^,]*))/g)].map(([, quoted, plain]) =>
    (quoted?.replaceAll('""', '"') ?? plain ?? '').trim(),
  )

/** Reads destination, code and campaign from the lines of a CSV text. */
export const parseLinks = (text: string): LinkRow[] => {
  const seen = new Set<string>()
  return text.split(/\r?\n/).flatMap((content, index): LinkRow[] => {
    if (content.trim() === '') return []
    const [destination = '', code = '', campaign = ''] = cellsOf(content)
    if (index === 0 && destination.toLowerCase() === 'destination') return []
    const link = { destination, ...(code && { code }), ...(campaign && { campaign }) }
    const problem = problemOf(destination, code, seen)
    if (code) seen.add(code)
    return [{ line: index + 1, link, ...(problem && { problem }) }]
  })
}

const problemOf = (destination: string, code: string, seen: ReadonlySet<string>): string | undefined => {
  const url = URL.parse(destination)
  if (!url || !/^https?:$/.test(url.protocol)) return 'no http or https URL'
  if (code !== '' && !/^[\w-]+$/.test(code)) return 'code with other than letters, digits, - and _'
  return seen.has(code) ? 'code is there twice' : undefined
}
