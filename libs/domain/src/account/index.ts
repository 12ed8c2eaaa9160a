export { hashPassword, isCommonPassword, unmatchableHash, verifyPassword } from './password.ts'
export { roleAllows, roleOfScopes, scopesOfRole, strongerRole } from './role.ts'
export {
  generateAccessToken,
  generateToken,
  hashAccessToken,
  hashToken,
  isAccessToken,
} from './token.ts'
