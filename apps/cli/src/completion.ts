import type { Command } from 'commander'
import { CliError } from './exit-codes.ts'

/** The shells with a completion script. */
export const shells = ['bash', 'zsh', 'fish'] as const

/** All commands with their subcommands and options: `['flags on', ['--env', …]]`. */
const wordsOf = (program: Command): [string, string[]][] => {
  const globals = program.options.map(({ long }) => long ?? '')
  const found: [string, string[]][] = []
  const visit = (command: Command, path: string[]): void => {
    const options = command.options.map(({ long }) => long ?? '')
    found.push([path.join(' '), [...command.commands.map((child) => child.name()), ...options, ...globals]])
    for (const child of command.commands) visit(child, [...path, child.name()])
  }
  visit(program, [])
  return found
}

/**
 * A script that completes commands and options in a shell.
 * @throws CliError for another shell
 */
export const completionScript = (program: Command, shell: string): string => {
  const words = wordsOf(program).map(([path, next]): [string, string] => [path, [...new Set(next)].join(' ')])
  const cases = words.map(([path, next]) => `    '${path}') words='${next}' ;;`).join('\n')
  const bash = `_waymark() {
  local cur=\${COMP_WORDS[COMP_CWORD]} path='' word words=''
  for word in "\${COMP_WORDS[@]:1:COMP_CWORD-1}"; do
    case $word in -*) ;; *) [ -z "$path" ] && path=$word || path="$path $word" ;; esac
  done
  case $path in
${cases}
  esac
  COMPREPLY=($(compgen -W "$words" -- "$cur"))
}
complete -F _waymark waymark
`
  switch (shell) {
    case 'bash':
      return bash
    case 'zsh':
      return `autoload -U +X bashcompinit && bashcompinit\n${bash}`
    case 'fish':
      return words
        .map(([path, next]) => {
          const seen =
            path === '' ? '__fish_use_subcommand' : `__fish_seen_subcommand_from ${path.split(' ').at(-1)}`
          return `complete -c waymark -f -n '${seen}' -a '${next}'\n`
        })
        .join('')
    default:
      throw new CliError(`There is a completion for ${shells.join(', ')}, not for ${shell}`)
  }
}
