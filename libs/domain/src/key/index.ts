export { isAllowedOrigin, isOriginPattern } from './allowed-origin.ts'
export { generateApiKey, parseApiKey, scopeAllows, secretMatches } from './api-key.ts'
