const anything = { description: 'Anything', contentTypes: ['application/json'] } as const

/** The answers of an operation whose handler answers with what a test needs. */
export const anyAnswers = { 200: anything, 202: anything } as const
