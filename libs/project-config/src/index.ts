export { type ApiKey, type ApiKeys, createApiKeys } from './api-keys.ts'
