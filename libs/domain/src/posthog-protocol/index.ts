export { postHogProblem, readPostHogMessage } from './read-message.ts'
