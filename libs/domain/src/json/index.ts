export { canonicalJson } from './canonical-json.ts'
export { holdsNumberOutOfRange, isDeeperThan, parseClientJson } from './client-json.ts'
export { createPatch, type PatchOperation } from './json-patch.ts'
export { JsonLimitError, parseInPieces } from './json-pieces.ts'
