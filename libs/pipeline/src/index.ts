export * from './coupons/index.ts'
export * from './decisions/index.ts'
export {
  beginDemoData,
  type DemoData,
  type DemoResourceKind,
  demoResourceIds,
  findDemoData,
  updateDemoData,
} from './demo-data.ts'
export * from './email/index.ts'
export * from './erasure/index.ts'
export * from './events/index.ts'
export * from './identity/index.ts'
export * from './links/index.ts'
export * from './outbox/index.ts'
export * from './personal-data/index.ts'
