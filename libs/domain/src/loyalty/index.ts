export {
  earnedPoints,
  expiryOf,
  type Lot,
  spendPoints,
  takeFromLots,
  tierOf,
} from './points.ts'
