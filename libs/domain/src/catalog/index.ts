export {
  type Catalog,
  compileEventSchema,
  uncheckedProperties,
  usabilityProblems,
  validateEvent,
  validationModeOf,
} from './event-validation.ts'
export { createSchemaInference } from './infer-schema.ts'
export { isQuickToCheck, partsOf } from './schema-safety.ts'
export { unsupportedKeywords } from './schema-vocabulary.ts'
