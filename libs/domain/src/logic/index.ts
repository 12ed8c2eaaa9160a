export { logicData, logicProblems } from './compile-logic.ts'
export { WorkBudget } from './work-budget.ts'
