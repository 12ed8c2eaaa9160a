export {
  adjustPoints,
  createExpirePoints,
  earnPoints,
  isReversed,
  type ReversedPoints,
  reverseOrder,
  type SpentPoints,
  spendOnOrder,
} from './move-points.ts'
export {
  findOrderSpending,
  type OrderSpending,
  type PersonPoints,
  readPoints,
} from './point-ledger-queries.ts'
