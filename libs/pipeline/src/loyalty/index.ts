export {
  adjustPoints,
  createExpirePoints,
  earnPoints,
  isReversed,
  type ReversedPoints,
  reverseOrder,
  type SpentPoints,
  spendOnOrder,
  type UnspentPoints,
} from './move-points.ts'
export {
  findOrderSpending,
  findProfileIds,
  type OrderSpending,
  type PersonPoints,
  readPoints,
} from './point-ledger-queries.ts'
