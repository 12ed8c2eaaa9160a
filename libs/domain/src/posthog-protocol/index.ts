export { postHogKeyIn } from './project-key.ts'
export { postHogProblem, readPostHogMessage } from './read-message.ts'
