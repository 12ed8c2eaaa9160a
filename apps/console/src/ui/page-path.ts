import type { LinkProps } from '@tanstack/react-router'

/** The path of a page, with its parameters unfilled. */
export type PagePath = NonNullable<LinkProps['to']>
