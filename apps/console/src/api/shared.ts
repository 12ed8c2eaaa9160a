import { createContext, useContext } from 'react'

/** Whether the page is that of a secret link, which shows no people and belongs to no project of its visitor. */
export const SharedPageContext = createContext(false)

export const useIsShared = (): boolean => useContext(SharedPageContext)
