export {
  type CompiledSelector,
  compileSelector,
  conversionsOf,
  meterEvent,
} from './metering.ts'
