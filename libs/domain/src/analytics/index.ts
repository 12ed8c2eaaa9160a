export {
  type Channel,
  type ChannelRule,
  channelOf,
  channelRules,
  channels,
  type Entry,
} from './channel.ts'
export {
  type EventFilter,
  fulfils,
  type Ordering,
  parseFilter,
  type ScalarValue,
} from './event-filter.ts'
export {
  type EventColumn,
  PROPERTY_NAMES,
  type PropertyRef,
  parsePropertyName,
  propertyNameOf,
  valueAt,
} from './property.ts'
